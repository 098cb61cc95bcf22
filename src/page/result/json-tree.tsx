import { useState } from 'preact/hooks';

type JsonTreeProps = {
  readonly name?: string;
  readonly value: unknown;
  readonly depth?: number;
  /** Levels that are open from the start; log rows wrap their records in arrays. Default: 5. */
  readonly openDepth?: number;
  /** Whether the value is the only element of an array, which is shown with it. */
  readonly isOnly?: boolean;
};

/** Members that are shown at once. */
const pageSize = 100;

/** A JSON value whose records can be opened and closed. Text is shown as text, whatever it contains. */
export function JsonTree({ name, value, depth = 0, openDepth = 5, isOnly = false }: JsonTreeProps) {
  const [limit, setLimit] = useState(pageSize);
  const [isOpen, setOpen] = useState(depth < openDepth);
  const label = name === undefined ? null : <span class="json-key">{name}: </span>;
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="json-leaf">
        {label}
        <span class={`json-${value === null ? 'null' : typeof value}`}>{leafText(value)}</span>
      </div>
    );
  }
  // A record that is the only element of its array shares one line with it: records come in arrays of one.
  if (Array.isArray(value) && value.length === 1 && typeof value[0] === 'object' && value[0] !== null) {
    const named = name === undefined ? {} : { name };
    return <JsonTree {...named} value={value[0]} depth={depth} openDepth={openDepth} isOnly />;
  }
  const members = Object.entries(value);
  const ownSize = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`;
  const size = isOnly ? `[${ownSize}]` : ownSize;
  if (members.length === 0) {
    return (
      <div class="json-leaf">
        {label}
        <span class="json-null">{Array.isArray(value) ? '[]' : '{}'}</span>
      </div>
    );
  }
  return (
    <details class="json-node" open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span class="json-null">{size}</span>
      </summary>
      {isOpen &&
        members
          .slice(0, limit)
          .map(([key, inner]) => (
            <JsonTree key={key} name={key} value={inner} depth={depth + 1} openDepth={openDepth} />
          ))}
      {isOpen && members.length > limit && (
        <button type="button" class="link" onClick={() => setLimit(limit + pageSize)}>
          {members.length - limit} more
        </button>
      )}
    </details>
  );
}

/** Maximum characters of a leaf; the copy has all of them. */
const maxLeaf = 20_000;

function leafText(value: unknown): string {
  const text = typeof value === 'string' ? value : String(value);
  return text.length > maxLeaf ? `${text.slice(0, maxLeaf)}… (${text.length} characters)` : text;
}
