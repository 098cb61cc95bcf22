"""Drives a server in BigQuery's place with Google's own client, and prints what the client made of the answers, as JSON.

Arguments: the server's URL, and the location of the table `acme.logs.edge`.
"""

import concurrent.futures
import decimal
import json
import sys

from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

url, location = sys.argv[1:]
EDGE = "select id, timestamp from `acme.logs.edge` order by id"
ENDLESS = """select count(*) as n from unnest(generate_array(1, 100000)) as a,
unnest(generate_array(1, 100000)) as b, unnest(generate_array(1, 1000)) as c where a + b + c > 0"""
SLOW = """select count(*) as n from unnest(generate_array(1, 8000)) as a,
unnest(generate_array(1, 4000)) as b where mod(a * b, 7) > 2"""

client = bigquery.Client(
    project="payer",
    credentials=AnonymousCredentials(),
    location=location,
    client_options={"api_endpoint": url},
)
steps = {}


def step(function):
    steps[function.__name__] = function
    return function


def numbers(count):
    return f"select n from unnest(generate_array(1, {count})) as n order by n"


def insert(sql, job_id=None, **config):
    return client.query(
        sql, job_config=bigquery.QueryJobConfig(**config), job_id=job_id, retry=None, job_retry=None
    )


def described(job):
    return {
        "job_id": job.job_id,
        "location": job.location,
        "state": job.state,
        "bytes": job.total_bytes_processed,
        "cache_hit": job.cache_hit,
        "statement_type": job.statement_type,
        "tables": [str(table) for table in job.referenced_tables],
        "schema": [[field.name, field.field_type, field.mode] for field in job.schema or []],
    }


@step
def dry_run_by_insert():
    return described(insert(EDGE, dry_run=True, use_query_cache=False))


@step
def dry_run_by_query():
    config = bigquery.QueryJobConfig(dry_run=True, use_query_cache=False)
    job = client.query(EDGE, job_config=config, api_method="QUERY", retry=None, job_retry=None)
    return {"job_id": job.job_id, "location": job.location, "bytes": job.total_bytes_processed}


@step
def dry_run_of_bad_sql():
    insert("select nope", dry_run=True)


@step
def dry_run_from_the_cache():
    client.query_and_wait(EDGE)
    return described(insert(EDGE, dry_run=True))


@step
def values():
    rows = client.query_and_wait(
        """select 9007199254740993 as whole, 1.5 as part, true as yes, 'ä"' as text, b'\\x00\\xff' as bytes,
        numeric '1.5' as exact, date '2026-01-15' as day, time '10:00:00.5' as hour,
        datetime '2026-01-15 10:00:00' as local, timestamp '2026-01-15 10:00:00.000001+00' as instant,
        cast(null as string) as nothing, [1, 2] as list, [struct('x' as a, [1] as b)] as records"""
    )
    row = dict(next(iter(rows)).items())
    # As text: who reads this JSON would lose a digit.
    return {**row, "whole": str(row["whole"])}


@step
def parameters():
    config = bigquery.QueryJobConfig(
        query_parameters=[
            bigquery.ScalarQueryParameter("project", "STRING", "theirs"),
            bigquery.ArrayQueryParameter("ids", "STRING", ["a", "d"]),
        ]
    )
    sql = "select id from `acme.logs.edge` where project = @project and id in unnest(@ids)"
    return [row.id for row in client.query_and_wait(sql, job_config=config)]


@step
def query_of_bad_sql():
    client.query_and_wait("select nope", retry=None, job_retry=None)


@step
def query_of_no_table():
    client.query_and_wait("select 1 as n from `acme.logs.none`", retry=None, job_retry=None)


@step
def query_that_costs_too_much():
    config = bigquery.QueryJobConfig(maximum_bytes_billed=9999, use_query_cache=False)
    client.query_and_wait(EDGE, job_config=config, retry=None, job_retry=None)


@step
def inserted_bad_sql():
    job = insert("select nope")
    state = [job.state, job.error_result["reason"]]
    try:
        job.result(retry=None)
    except exceptions.GoogleAPICallError as error:
        return state + [type(error).__name__, error.errors[0]["reason"]]


@step
def inserted_twice():
    insert(numbers(1), job_id="python_once")
    insert(numbers(1), job_id="python_once")


@step
def receipt():
    job = insert(EDGE, use_query_cache=False)
    rows = job.result()
    job.reload()
    return [rows.total_rows, job.total_bytes_processed, job.total_bytes_billed, job.slot_millis, job.state]


@step
def waited_for():
    return [row.n > 0 for row in insert(SLOW).result()]


@step
def waited_for_too_briefly():
    job = insert(ENDLESS)
    try:
        job.result(timeout=0.3)
    except concurrent.futures.TimeoutError:
        return job.cancel()


@step
def pages():
    by_query = [row.n for row in client.query_and_wait(numbers(25))]
    by_insert = insert(numbers(25)).result(page_size=7)
    sizes = [page.num_items for page in by_insert.pages]
    return [by_query == list(range(1, 26)), sizes, by_insert.total_rows]


@step
def cancelled():
    job = insert(ENDLESS)
    job.cancel()
    job.result(retry=None)


@step
def got_with_its_location():
    return described(client.get_job(insert(EDGE, job_id="python_got").job_id, location=location))["location"]


@step
def got_without_its_location():
    bigquery.Client(
        project="payer", credentials=AnonymousCredentials(), client_options={"api_endpoint": url}
    ).get_job("python_got", retry=None)


def outcome(function):
    try:
        return function()
    except exceptions.GoogleAPICallError as error:
        return {"class": type(error).__name__, "code": error.code, "reason": error.errors[0]["reason"]}


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    return f"{type(value).__name__} {value}" if isinstance(value, decimal.Decimal) else str(value)


print(json.dumps({name: outcome(function) for name, function in steps.items()}, default=plain))
