import { formatAmount, heightOf } from './amount.ts';
import type { ChartModel } from './chart-model.ts';

type NameChartProps = { readonly model: Extract<ChartModel, { kind: 'names' }> };

/** A bar for each name, as a table that shows its numbers too. */
export function NameChart({ model: { names, series } }: NameChartProps) {
  const heights = series.values.map(heightOf);
  const most = Math.max(...heights, 0);
  return (
    <table class="name-chart">
      <caption class="hint">{series.name}</caption>
      <tbody>
        {names.map((name, at) => (
          <tr key={at}>
            <th scope="row" title={name}>
              {name}
            </th>
            <td class="bar-cell">
              <span
                class="bar"
                style={{ width: most > 0 ? `${(Math.max(0, heights[at]!) / most) * 100}%` : '0' }}
              />
            </td>
            <td class="number">{formatAmount(series.values[at]!)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
