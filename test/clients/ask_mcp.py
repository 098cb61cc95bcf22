"""Asks over /mcp as an agent does: the tools, the columns, SQL of its own, and SQL that is wrong."""

import asyncio
import json
import os

import mcp
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


async def main():
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
    project = os.environ["PROJECT"]
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(os.environ["URL"] + "/mcp", http_client=http)
        async with mcp.Client(transport) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            columns = await client.call_tool("describe_subsets", {"saved_query": "logs.all"})
            found = await client.call_tool("logs_all_sql", {"project": project, "sql": os.environ["SQL"]})
            wrong = await client.call_tool("logs_all_sql", {"project": project, "sql": "select pth from edge_logs"})
            answer = {
                "tools": tools,
                "describes": "unnest(t.metadata)" in columns.content[0].text,
                "rows": found.structured_content["rows"],
                "error": json.loads(wrong.content[0].text)["error"]["code"],
            }
            print(json.dumps(answer))


asyncio.run(main())
