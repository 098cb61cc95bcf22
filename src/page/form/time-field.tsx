import { useState } from 'preact/hooks';
import type { FieldProps } from './field-props.ts';
import { fromLocalField, isMoving, presets, resolveTime, toLocalField } from './time-values.ts';

/** A time: one that moves with the clock, or one of the calendar, in UTC. */
export function TimeField({ parameter, value, onChange }: FieldProps) {
  const { name, type, required } = parameter;
  const text = String(value);
  // A time that is half typed is empty, but its field stays.
  const [isTyped, setTyped] = useState(false);
  const isCalendar = !isMoving(text) && (text !== '' || isTyped);
  return (
    <div class="time-field">
      <select
        aria-label={`${name}: moving with the clock`}
        value={isCalendar ? 'at' : text}
        onChange={event => {
          const chosen = event.currentTarget.value;
          setTyped(false);
          onChange(chosen === 'at' ? resolveTime(presets[1].value, Date.now(), type) : chosen, true);
        }}
      >
        {!required && <option value="">any time</option>}
        {presets.map(preset => (
          <option key={preset.value} value={preset.value}>
            {preset.label}
          </option>
        ))}
        <option value="at">at (UTC)…</option>
      </select>
      {isCalendar && (
        <CalendarField
          parameter={parameter}
          value={value}
          onChange={next => {
            setTyped(true);
            onChange(next);
          }}
        />
      )}
    </div>
  );
}

/** A time of the calendar, in UTC. */
export function CalendarField({ parameter: { name, type }, value, onChange }: FieldProps) {
  return (
    <input
      type="datetime-local"
      step={1}
      aria-label={`${name}: time in UTC`}
      value={toLocalField(String(value))}
      onInput={event => onChange(fromLocalField(event.currentTarget.value, type))}
    />
  );
}
