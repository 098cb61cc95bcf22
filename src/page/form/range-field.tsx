import { useState } from 'preact/hooks';
import type { Parameter, Values } from '../api/catalogue.ts';
import { CalendarField } from './time-field.tsx';
import { endsBefore, isMoving, presets, resolveTime } from './time-values.ts';

type RangeFieldProps = {
  readonly start: Parameter;
  readonly end: Parameter;
  /** Length of the range without a choice, such as `24h`; undefined if unbounded. */
  readonly ifNone: string | undefined;
  readonly values: Values;
  /** @param isFinal whether to run at once */
  readonly onChange: (values: Values, isFinal: boolean) => void;
};

/** Two parameters that bound a time, as one choice: up to now, any time, or two times of the calendar in UTC. */
export function RangeField({ start, end, ifNone, values, onChange }: RangeFieldProps) {
  const [from, to] = [String(values[start.name] ?? ''), String(values[end.name] ?? '')];
  const [isOpen, setOpen] = useState(false);
  const isCustom = to !== '' || (from !== '' && !isMoving(from)) || isOpen;
  const set = (next: string) => {
    setOpen(false);
    onChange({ ...values, [start.name]: next, [end.name]: '' }, true);
  };
  const open = () => {
    setOpen(true);
    const first = resolveTime(from === '' ? presets[1].value : from, Date.now(), start.type);
    onChange({ ...values, [start.name]: first.replace(/\.\d+/, '') }, false);
  };
  const choices = [
    ...presets.map(({ value, short }) => ({ value, label: short })),
    { value: '', label: ifNone === undefined ? 'any' : `default: ${ifNone}` },
  ];
  return (
    <fieldset class="field range-field">
      <legend class="label">time range</legend>
      <div class="segments">
        {choices.map(({ value, label }) => (
          <label key={value}>
            <input
              type="radio"
              name="time-range"
              checked={!isCustom && from === value}
              onChange={() => set(value)}
            />
            <span>{label}</span>
          </label>
        ))}
        <label>
          <input type="radio" name="time-range" checked={isCustom} onChange={open} />
          <span>custom</span>
        </label>
      </div>
      {isCustom && (
        <div class="time-range">
          {[start, end].map(parameter => (
            <div key={parameter.name}>
              <span class="hint">{parameter === start ? 'from, UTC' : 'to, UTC'}</span>
              <CalendarField
                parameter={parameter}
                value={resolveTime(String(values[parameter.name] ?? ''), Date.now(), parameter.type)}
                onChange={text => {
                  // A time that is half typed is empty, but its field stays.
                  setOpen(true);
                  onChange({ ...values, [parameter.name]: text }, false);
                }}
              />
            </div>
          ))}
        </div>
      )}
      {isCustom && endsBefore(resolveTime(from, Date.now(), start.type), to) && (
        <p class="problem-line" role="status">
          The range ends before it starts: no row is in it.
        </p>
      )}
      <p class="hint">
        <code>{start.name}</code>, <code>{end.name}</code>
      </p>
    </fieldset>
  );
}
