import { type Endpoint, isTime, type Parameter, timeBounds, type Values } from '../api/catalogue.ts';
import type { FieldProps } from './field-props.ts';
import { RangeField } from './range-field.tsx';
import { TimeField } from './time-field.tsx';

type FormProps = {
  readonly endpoint: Endpoint;
  readonly values: Values;
  /** @param isFinal whether the value is a choice, to be run at once, rather than a text that is still being typed */
  readonly onChange: (values: Values, isFinal: boolean) => void;
};

/** A field for each parameter, by its type. */
export function ParameterForm({ endpoint, values, onChange }: FormProps) {
  const range = rangeOf(endpoint);
  const single = endpoint.parameters.filter(each => each !== range?.start && each !== range?.end);
  return (
    <div class="fields">
      {single.map(parameter => (
        <Field
          key={parameter.name}
          parameter={parameter}
          value={values[parameter.name] ?? ''}
          onChange={(value, isFinal = false) => onChange({ ...values, [parameter.name]: value }, isFinal)}
        />
      ))}
      {range && (
        <RangeField {...range} ifNone={endpoint.limits.window?.default} values={values} onChange={onChange} />
      )}
    </div>
  );
}

/** The parameters that are shown as one range of time. */
function rangeOf(endpoint: Endpoint): { start: Parameter; end: Parameter } | undefined {
  const bounds = timeBounds(endpoint);
  const find = (name?: string) =>
    endpoint.parameters.find(each => each.name === name && isTime(each) && !each.required && !each.fixed);
  const [start, end] = [find(bounds.start), find(bounds.end)];
  return start && end ? { start, end } : undefined;
}

function Field(props: FieldProps) {
  const { parameter } = props;
  const { name, description, required, fixed } = parameter;
  const isGroup = isChoice(parameter) || isTime(parameter);
  const title = (
    <>
      {name}
      {required && !fixed && <span class="required"> required</span>}
    </>
  );
  const hint = (
    <p class="hint" id={`hint-${name}`}>
      {fixed ? 'Fixed by the token.' : description}
    </p>
  );
  if (fixed) {
    return (
      <div class="field">
        <span class="label">{title}</span>
        {hint}
      </div>
    );
  }
  if (isGroup) {
    return (
      <fieldset class="field" aria-describedby={`hint-${name}`}>
        <legend class="label">{title}</legend>
        {isTime(parameter) ? <TimeField {...props} /> : <Segments {...props} />}
        {hint}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <label class="label" for={`field-${name}`}>
        {title}
      </label>
      <TextField {...props} />
      {hint}
    </div>
  );
}

/** Maximum choices that are shown side by side. */
const maxSegments = 8;

const isChoice = ({ type, values = [] }: Parameter) =>
  type === 'BOOL' || (values.length > 0 && values.length <= maxSegments);

/** One of few values, or several of them for a list. */
function Segments({ parameter, value, onChange }: FieldProps) {
  const { name, values = ['true', 'false'], repeated, required, default: initial } = parameter;
  const given = [value].flat().filter(Boolean);
  // Without a value the default applies, so it is shown as chosen.
  const chosen = given.length > 0 ? given : [initial ?? []].flat().map(String);
  const choose = (own: string) => {
    if (repeated)
      onChange(chosen.includes(own) ? chosen.filter(each => each !== own) : [...chosen, own], true);
    else onChange(own, true);
  };
  const options =
    required || repeated || initial !== undefined ? values.map(String) : ['', ...values.map(String)];
  return (
    <div class="segments">
      {options.map(own => (
        <label key={own}>
          <input
            type={repeated ? 'checkbox' : 'radio'}
            name={name}
            value={own}
            checked={own === '' ? chosen.length === 0 : chosen.includes(own)}
            onChange={() => choose(own)}
          />
          <span>{own === '' ? 'any' : own}</span>
        </label>
      ))}
    </div>
  );
}

function TextField({ parameter, value, onChange }: FieldProps) {
  const { name, repeated, values, required, min_length, max_length } = parameter;
  const shared = {
    id: `field-${name}`,
    name,
    'aria-describedby': `hint-${name}`,
    autoComplete: 'off',
    spellcheck: false,
  };
  const placeholder = placeholderOf(parameter);
  if (repeated) {
    return (
      <textarea
        {...shared}
        rows={3}
        placeholder={placeholder || 'one a line'}
        value={[value].flat().join('\n')}
        // Empty lines are kept: without the last one, no further line could be typed.
        onInput={event => onChange(event.currentTarget.value.split('\n'))}
      />
    );
  }
  if (values) {
    return (
      <select {...shared} value={String(value)} onChange={event => onChange(event.currentTarget.value, true)}>
        {!required && <option value="">{placeholder || 'any'}</option>}
        {values.map(own => (
          <option key={own}>{own}</option>
        ))}
      </select>
    );
  }
  return (
    <input
      {...shared}
      {...inputOf(parameter)}
      minLength={min_length}
      maxLength={max_length}
      required={required}
      placeholder={placeholder}
      value={String(value)}
      onInput={event => onChange(event.currentTarget.value)}
    />
  );
}

/** The attributes by which a browser offers a calendar, a clock or a number. */
function inputOf({ type, min, max }: Parameter) {
  if (type === 'DATE') return { type: 'date' as const, min, max };
  if (type === 'TIME') return { type: 'time' as const, step: 1 };
  const isNumber = ['INT64', 'FLOAT64', 'NUMERIC', 'BIGNUMERIC'].includes(type);
  if (!isNumber) return { type: 'text' as const };
  return { type: 'number' as const, min, max, step: type === 'INT64' ? 1 : 'any' };
}

function placeholderOf({ default: initial, examples, min, max }: Parameter): string {
  if (initial !== undefined) return `default: ${[initial].flat().join(', ')}`;
  const [example] = examples ?? [];
  if (example !== undefined) return `for example ${[example].flat().join(', ')}`;
  return min !== undefined && max !== undefined ? `${min} to ${max}` : '';
}
