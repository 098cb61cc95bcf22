import { bindArguments, type SpecialFunction } from '../../tree/bind-context.ts';
import { type BoundExpression, call as boundCall, literal } from '../../tree/bound-tree.ts';
import { coerce } from '../../tree/coercion.ts';
import { letIn } from '../../tree/let-in.ts';
import { inTemplate, quoteText } from '../../tree/quote-text.ts';
import { invalidQuery, onlyOnWarehouse } from '../../tree/sql-error.ts';
import { holdsUnclear, typeAsPart } from '../../tree/storage.ts';
import { arrayOf, type SqlType, scalar, typeName } from '../../tree/types.ts';
import { holdsAnyAggregate, isConstant } from '../../tree/walk-bound-tree.ts';
import { namedArguments } from '../call-arguments.ts';
import { bindRow, row } from '../function-row.ts';
import { kindsOf } from '../nested-comparison.ts';

const regexpInstr = ['', ', INT64', ', INT64, INT64', ', INT64, INT64, INT64'].map((more, i) =>
  row(
    `REGEXP_INSTR(STRING, STRING${more}) INT64`,
    `bq_regexp_instr($1, $2, ${i > 0 ? '$3' : '1'}, ${i > 1 ? '$4' : '1'}, ${i > 2 ? '$5' : '0'})`,
  ),
);

const containsRow = [row('CONTAINS_SUBSTR(STRING, STRING) BOOL', 'contains(bq_folded($1), bq_folded($2))')];

/** Functions of texts, most of which run in the engine process. */
export const textRows = [
  ...containsRow,
  row('INSTR(STRING, STRING, INT64) INT64', 'bq_instr($1, $2, $3, 1)'),
  row('INSTR(STRING, STRING, INT64, INT64) INT64', 'bq_instr($1, $2, $3, $4)'),
  ...regexpInstr,
  row('INITCAP(STRING) STRING', 'bq_initcap($1)'),
  row('INITCAP(STRING, STRING) STRING', 'bq_initcap_by($1, $2)'),
  row('TRANSLATE(STRING, STRING, STRING) STRING', 'bq_translate($1, $2, $3)'),
  row('SOUNDEX(STRING) STRING', 'bq_soundex($1)'),
  row('TO_CODE_POINTS(STRING) ARRAY<INT64>', 'bq_to_code_points($1)'),
  row('CODE_POINTS_TO_STRING(ARRAY<INT64>) STRING', 'bq_code_points_to_string($1)'),
  row('UNICODE(STRING) INT64', 'bq_unicode($1)'),
  row('ERROR(STRING) NULL', "bq_fail_text(coalesce($1, 'NULL'))"),
];

const distanceRow = [row('EDIT_DISTANCE(STRING, STRING, INT64) INT64', 'bq_edit_distance($1, $2, $3)')];

export const textFunctions: Readonly<Record<string, SpecialFunction>> = {
  NORMALIZE: normalization('NORMALIZE', 'bq_normalize'),
  NORMALIZE_AND_CASEFOLD: normalization('NORMALIZE_AND_CASEFOLD', 'bq_normalize_and_casefold'),
  EDIT_DISTANCE(context, call) {
    const values = bindArguments(context, call);
    const { max_distance: most = unlimitedDistance } = namedArguments(context, call, {
      max_distance: scalar('INT64'),
    });
    return bindRow(distanceRow, 'function EDIT_DISTANCE', [...values, most], call.at);
  },
  CONTAINS_SUBSTR: containsSubstr,
  TYPEOF: typeOf,
};

const unlimitedDistance = literal('INT64', String(2n ** 63n - 1n));

/** In a record, an array or a whole row, the text is searched for in each part; parts of other types are cast to text. */
function containsSubstr(...[context, call]: Parameters<SpecialFunction>): BoundExpression {
  const values = bindArguments(context, call);
  namedArguments(context, call, { json_scope: scalar('STRING') });
  const [value, second] = values;
  if (!value || !second || values.length > 2 || ['STRING', 'NULL'].includes(value.type.kind))
    return bindRow(containsRow, 'function CONTAINS_SUBSTR', values, call.at);
  const text = coerce(second, scalar('STRING'), call.at);
  if (!isConstant(text)) throw onlyOnWarehouse('CONTAINS_SUBSTR with a calculated text to find', call.at);
  const unknown = [...kindsOf(value.type)].find(kind => !searchedKinds.has(kind));
  if (unknown) throw onlyOnWarehouse(`CONTAINS_SUBSTR of ${unknown}`, call.at);
  const folded = boundCall('FOLDED', 'bq_folded($1)', [text], text.type);
  const inside = (part: BoundExpression): BoundExpression => {
    if (part.kind === 'struct') return boundCall('OR', '($or)', part.values.map(inside), scalar('BOOL'));
    if (holdsUnclear(typeAsPart(part)))
      throw onlyOnWarehouse('CONTAINS_SUBSTR of what an outer join may leave out', call.at);
    return letIn(part, named => boundCall('CONTAINS_SUBSTR', '$contains', [named, folded], scalar('BOOL')));
  };
  return inside(value);
}

const searchedKinds: ReadonlySet<string> = new Set([
  ...['STRING', 'BOOL', 'INT64', 'FLOAT64', 'NUMERIC', 'TIMESTAMP', 'DATETIME', 'DATE', 'TIME', 'NULL'],
]);

/** The type alone: the value is not calculated and can't fail, but an aggregate in it still makes the query a grouped one. */
function typeOf(...[context, call]: Parameters<SpecialFunction>): BoundExpression {
  namedArguments(context, call, {});
  const [value, ...others] = bindArguments(context, call);
  if (!value || others.length > 0) throw invalidQuery('No matching signature for function TYPEOF', call.at);
  // Not a literal, which could be coerced to any type that its text fits.
  const name = inTemplate(quoteText(typeName(settledType(value.type))));
  if (!holdsAnyAggregate(value)) return boundCall('TYPEOF', name, [], scalar('STRING'));
  return boundCall(
    'TYPEOF',
    `(case when $1 is null then ${name} else ${name} end)`,
    [value],
    scalar('STRING'),
  );
}

function settledType(type: SqlType): SqlType {
  if (type.kind === 'ARRAY') return arrayOf(settledType(type.element));
  return type.kind === 'NULL' ? scalar('INT64') : type;
}

const forms = ['NFC', 'NFKC', 'NFD', 'NFKD'];

/** The form is a keyword, not a value. */
function normalization(name: string, duckDb: string): SpecialFunction {
  const rows = [row(`${name}(STRING, STRING) STRING`, `${duckDb}($1, $2)`)];
  return (context, call) => {
    const [text, mode] = call.arguments;
    if (!text || call.arguments.length > 2 || call.named?.length)
      throw invalidQuery(`No matching signature for function ${name}`, call.at);
    const form = mode ? (mode.kind === 'path' ? mode.parts.map(part => part.name).join('.') : '') : 'NFC';
    if (!forms.includes(form.toUpperCase()))
      throw invalidQuery(`Argument is not a valid NORMALIZE mode: ${form}`, mode?.at ?? call.at);
    const value = context.binder.expression(context, text);
    return bindRow(rows, `function ${name}`, [value, literal('STRING', form.toUpperCase())], call.at);
  };
}
