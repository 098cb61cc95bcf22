import type { FieldProps } from './field-props.ts';
import { fromLocalField, presets, toLocalField } from './time-values.ts';

/** A time: one that moves with the clock, or one of the calendar, in UTC. */
export function TimeField({ parameter, value, onChange }: FieldProps) {
  const { name, type, required } = parameter;
  const text = String(value);
  const isMoving = presets.some(preset => preset.value === text);
  return (
    <div class="time-field">
      <select
        aria-label={`${name}: moving with the clock`}
        value={isMoving ? text : text === '' ? '' : 'at'}
        onChange={event => {
          const chosen = event.currentTarget.value;
          const now = `${new Date().toISOString().slice(0, 19)}Z`;
          onChange(chosen === 'at' ? (type === 'DATETIME' ? now.slice(0, -1) : now) : chosen, true);
        }}
      >
        {!required && <option value="">any time</option>}
        {type !== 'DATETIME' &&
          presets.map(preset => (
            <option key={preset.value} value={preset.value}>
              {preset.label}
            </option>
          ))}
        <option value="at">at (UTC)…</option>
      </select>
      {text !== '' && !isMoving && (
        <input
          type="datetime-local"
          step={1}
          aria-label={`${name}: time in UTC`}
          value={toLocalField(text)}
          onInput={event => onChange(fromLocalField(event.currentTarget.value, type))}
        />
      )}
    </div>
  );
}
