"""Reads answers in every format with Python's usual readers, and prints what they made of them, as JSON.

Arguments: a folder with `every.parquet`, `every.arrow`, `every.csv`, `every.ndjson`, and the same named `none.*` without rows.
"""

import csv
import json
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

folder = sys.argv[1]


def path(name, extension):
    return f"{folder}/{name}.{extension}"


def arrow(name):
    with open(path(name, "arrow"), "rb") as file:
        table = pyarrow.ipc.open_stream(file).read_all()
    table.validate(full=True)
    return table


def parquet(name):
    table = pyarrow.parquet.read_table(path(name, "parquet"))
    table.validate(full=True)
    return table


def types(schema):
    # Parquet and Arrow name the element of a list differently.
    return {field.name: str(field.type).replace("element: ", "item: ") for field in schema}


def csv_rows(name):
    with open(path(name, "csv"), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def ndjson_rows(name):
    with open(path(name, "ndjson"), encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def described(relation):
    return [[str(kind) for kind in relation.types], repr(relation.fetchall())]


def polars_types(frame):
    return {name: str(kind) for name, kind in frame.schema.items()}


report = {}
for name in ["every", "none"]:
    read = polars.read_parquet(path(name, "parquet"))
    report[name] = {
        "types": types(arrow(name).schema),
        "parquet_types": types(parquet(name).schema),
        "rows": [{key: repr(value) for key, value in row.items()} for row in arrow(name).to_pylist()],
        "parquet_is_arrow": repr(parquet(name).to_pylist()) == repr(arrow(name).to_pylist()),
        "polars_types": polars_types(read),
        "polars_parquet_is_arrow": read.equals(polars.read_ipc_stream(path(name, "arrow"))),
        "pandas_parquet_is_arrow": repr(pandas.read_parquet(path(name, "parquet")).to_dict("records"))
        == repr(arrow(name).to_pandas().to_dict("records")),
        "pandas_types": pandas.read_parquet(path(name, "parquet")).dtypes.astype(str).to_dict(),
        "duckdb_parquet_is_arrow": described(duckdb.from_parquet(path(name, "parquet")))
        == described(duckdb.from_arrow(arrow(name))),
        "csv": csv_rows(name),
        "csv_is_ndjson_text": [row["text"] for row in csv_rows(name)]
        == [row["text"] or "" for row in ndjson_rows(name)],
    }

print(json.dumps(report))
