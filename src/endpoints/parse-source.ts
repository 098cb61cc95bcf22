import { resolve } from 'node:path';
import { z } from 'zod';
import type { ParameterType } from '../engine/engine.ts';
import { csvSchema } from './csv-form.ts';
import { type LoadMapping, loadSchema } from './load-mapping.ts';
import { valueTypes } from './parameters/value-types.ts';
import { DefinitionError, explainIssue, problemsOf, readYaml } from './parse-definition.ts';
import type { FileFormat, Source, SourceField, SourceFields } from './source.ts';
import { tableIdPattern } from './table-id.ts';

const scalar = z.enum(Object.keys(valueTypes) as ParameterType[]); // the keys of a record of them

const fieldName = z.string().regex(/^[A-Za-z_]\w{0,299}$/, 'must be letters, digits and "_"');

type WrittenField =
  | ParameterType
  | {
      type: ParameterType | 'STRUCT';
      repeated: boolean;
      required: boolean;
      generated: boolean;
      description?: string | undefined;
      from?: string | undefined;
      fields?: Record<string, WrittenField> | undefined;
    };

const longField = z
  .strictObject({
    type: z.enum([...scalar.options, 'STRUCT']),
    repeated: z.boolean().default(false),
    required: z.boolean().default(false),
    generated: z.boolean().default(false),
    description: z.string().trim().min(1).optional(),
    from: z.string().min(1).optional(),
    get fields(): z.ZodOptional<z.ZodType<Record<string, WrittenField>>> {
      return fields.optional();
    },
  })
  .refine(({ type, fields: own }) => (type === 'STRUCT') === (own !== undefined), {
    path: ['fields'],
    message: 'must stand with the type STRUCT, and with no other',
  })
  .refine(({ fields: own = {} }) => !Object.keys(own).some(name => name.toLowerCase() === '_p'), {
    path: ['fields'],
    message: 'must not have a field _p: the engine has one in each record that is repeated',
  })
  .refine(({ repeated, required }) => !(repeated && required), {
    path: ['required'],
    message: 'must not stand beside repeated: an array is never NULL',
  })
  .refine(({ type, repeated, generated }) => !generated || (type === 'STRING' && !repeated), {
    path: ['generated'],
    message: 'must stand with the type STRING',
  });

/** Parses a type alone or an object, and reports the problems of whichever it is. */
const field: z.ZodType<WrittenField> = z.unknown().transform((raw, context): WrittenField => {
  const options = { error: explainIssue };
  const read = typeof raw === 'string' ? scalar.safeParse(raw, options) : longField.safeParse(raw, options);
  if (read.success) return read.data;
  // Issues of another schema, with paths below this one.
  context.issues.push(...(read.error.issues as unknown as typeof context.issues));
  return z.NEVER;
});

const fields = z
  .record(fieldName, field)
  .refine(all => Object.keys(all).length > 0, 'must name at least one')
  .superRefine((all, context) => {
    const seen = new Map<string, string>();
    for (const name of Object.keys(all)) {
      const first = seen.get(name.toLowerCase());
      seen.set(name.toLowerCase(), name);
      if (first === undefined) continue;
      context.addIssue({ code: 'custom', path: [name], message: `is ${first} in another letter case` });
    }
  });

const fileSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][\w.-]{0,127}$/, 'must be letters, digits, ".", "-" and "_", with a letter first'),
  id: z.uuid().toLowerCase().optional(),
  description: z.string().trim().min(1).optional(),
  table: z.string().regex(tableIdPattern, 'must be project.dataset.table').optional(),
  files: z.array(z.string().min(1)).min(1).optional(),
  format: z.enum(['parquet', 'csv', 'json']).optional(),
  time: z.string().optional(),
  project: z.string().optional(),
  key: z.union([z.string().transform(column => [column]), z.array(z.string()).min(1)]).optional(),
  retentionDays: z.int().min(1).max(36_500).optional(),
  retentionMb: z.int().min(1).max(1_048_576).optional(),
  load: loadSchema.optional(),
  csv: csvSchema.optional(),
  columns: fields,
});

/**
 * Parses the file of a source.
 * @param file name without folder; must be `<name>.yaml`
 * @param folder where paths of its `files` start
 * @throws DefinitionError with every problem found
 */
export function parseSource(file: string, text: string, folder: string): Source {
  const { document, lines } = readYaml(file, text);
  const read = fileSchema.safeParse(document.toJS(), { error: explainIssue });
  const issues = read.success ? extraIssues(file, read.data) : read.error.issues;
  if (issues.length > 0) {
    const problems = issues.flatMap(issue => problemsOf(issue, document, lines));
    throw new DefinitionError(file, problems);
  }
  if (!read.success) throw read.error;
  const {
    name,
    id,
    table,
    files,
    format,
    columns,
    time,
    project,
    key,
    retentionDays,
    retentionMb,
    load,
    csv,
  } = read.data;
  const from = namesInFiles(columns);
  return {
    name,
    id,
    table,
    time,
    project,
    key,
    retentionDays,
    retentionMb,
    load: from || load ? withNames(load, from) : undefined,
    csv,
    from,
    columns: typesOf(columns),
    required: requiredPaths(columns),
    generated: Object.keys(columns).filter(column => {
      const own = columns[column]!;
      return typeof own !== 'string' && own.generated;
    }),
    files: files && {
      paths: files.map(path => resolve(folder, path)),
      format: format ?? formatOf(files[0]!)!,
    },
  };
}

type Issue = z.core.$ZodIssue;

function extraIssues(file: string, source: z.infer<typeof fileSchema>): Issue[] {
  const { name, files, format, columns } = source;
  const issue = (key: string, message: string): Issue =>
    ({ code: 'custom', path: [key], message, input: undefined }) as Issue;
  const formats = new Set(files?.map(formatOf));
  const isClear = formats.size === 1 && !formats.has(undefined);
  return [
    ...(file === `${name}.yaml`
      ? []
      : [
          issue(
            'name',
            `must match the file, which is ${file}: ${JSON.stringify(name)} belongs to ${name}.yaml`,
          ),
        ]),
    ...loadingIssues(source, columns).map(([key, message]) => issue(key, message)),
    ...nestedNames(columns).map(path =>
      issue('columns', `${path}.from: must stand with a column, not within one`),
    ),
    ...(format && !files ? [issue('format', 'must stand with files')] : []),
    ...(files && !format && !isClear
      ? [
          issue(
            'files',
            'do not say one format by their endings: put `format` beside them, parquet, csv or json',
          ),
        ]
      : []),
  ];
}

/** Paths of fields within columns that have a `from` of their own. */
function nestedNames(written: Record<string, WrittenField>, above = ''): string[] {
  return Object.entries(written).flatMap(([name, own]) => {
    if (typeof own === 'string') return [];
    const below = own.fields ? nestedNames(own.fields, `${above}${name}.`) : [];
    return above !== '' && own.from !== undefined ? [above + name, ...below] : below;
  });
}

/** Problems of the keys about loaded rows. */
function loadingIssues(
  { files, time, project, key = [], retentionDays, retentionMb, load }: z.infer<typeof fileSchema>,
  columns: Record<string, WrittenField>,
): [string, string][] {
  const typeOfColumn = (name: string) => {
    const own = Object.hasOwn(columns, name) ? columns[name] : undefined;
    return (
      own &&
      (typeof own === 'string' ? { type: own, repeated: false, required: false, generated: false } : own)
    );
  };
  const issues: [string, string][] = [];
  const timeColumn = time === undefined ? undefined : typeOfColumn(time);
  const isTime =
    timeColumn && !timeColumn.repeated && ['TIMESTAMP', 'DATETIME', 'DATE'].includes(timeColumn.type);
  if (time !== undefined && !isTime)
    issues.push(['time', 'must name a column of the type TIMESTAMP, DATETIME or DATE']);
  if (project !== undefined && !isText(columns, project.split('.')))
    issues.push(['project', 'must be the dotted path of a STRING']);
  for (const name of key) {
    const column = typeOfColumn(name);
    const isKey = column && !column.repeated && column.type !== 'STRUCT' && column.type !== 'JSON';
    if (!isKey || !(column.required || column.generated)) {
      issues.push(['key', `must name columns that are required, of one value each; ${name} is none`]);
    }
  }
  for (const [key, value] of Object.entries({ retentionDays, retentionMb })) {
    if (value !== undefined && time === undefined) issues.push([key, 'must stand with time']);
  }
  const loading = { key: key.length > 0, retentionDays, retentionMb, load };
  for (const [name, value] of Object.entries(loading)) {
    if (files && value) issues.push([name, 'must not stand beside files: nothing is loaded into them']);
  }
  for (const path of Object.keys(load?.fields ?? {})) {
    const [column = ''] = path.split('.');
    if (!Object.hasOwn(columns, column))
      issues.push(['load', `fields.${path}: no column is named ${column}`]);
  }
  return issues;
}

function isText(columns: Record<string, WrittenField>, [name = '', ...below]: string[]): boolean {
  const own = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (below.length === 0) return own === 'STRING' || (typeof own === 'object' && own.type === 'STRING');
  return typeof own === 'object' && own.fields !== undefined && isText(own.fields, below);
}

const formats: readonly (readonly [RegExp, FileFormat])[] = [
  [/\.parquet$/i, 'parquet'],
  [/\.[ct]sv(?:\.gz|\.zst)?$/i, 'csv'],
  [/\.(?:nd|geo)?jsonl?(?:\.gz|\.zst)?$/i, 'json'],
];

/** The format according to the ending of a file name. */
export function formatOf(path: string): FileFormat | undefined {
  return formats.find(([ending]) => ending.test(path))?.[1];
}

function typesOf(written: Record<string, WrittenField>): SourceFields {
  return Object.fromEntries(Object.entries(written).map(([name, own]) => [name, typeOf(own)]));
}

function typeOf(written: WrittenField): SourceField {
  if (typeof written === 'string') return written;
  const { type, repeated, fields: own = {} } = written;
  const element = type === 'STRUCT' ? typesOf(own) : type;
  return repeated ? [element] : element;
}

/** By column, its name in files, for columns with a different name there. */
function namesInFiles(written: Record<string, WrittenField>): Record<string, string> | undefined {
  const names = Object.entries(written).flatMap(([column, own]) =>
    typeof own === 'string' || own.from === undefined ? [] : [[column, own.from]],
  );
  return names.length > 0 ? Object.fromEntries(names) : undefined;
}

/** Adds the names in files to the mapping of loaded rows, which have them too; the mapping's own entries win. */
function withNames(load: LoadMapping | undefined, names: Source['from'] = {}): LoadMapping {
  const fields = Object.entries(names).map(([column, from]) => [column, { from }]);
  return { pattern: load?.pattern, fields: { ...Object.fromEntries(fields), ...load?.fields } };
}

function requiredPaths(written: Record<string, WrittenField>, above = ''): string[] {
  return Object.entries(written).flatMap(([name, own]) => {
    if (typeof own === 'string') return [];
    const path = above + name;
    const below = own.fields ? requiredPaths(own.fields, `${path}.`) : [];
    return own.required ? [path, ...below] : below;
  });
}
