import { afterEach } from 'vitest';
import { drawnSettings } from './draw-settings.ts';
import { propertySeed } from './seed-properties.ts';

/** A test that fails says what was drawn for its gateways, and by which seed. */
afterEach(({ task }) => {
  if (task.result?.state !== 'fail' || drawnSettings.length === 0) return;
  process.stderr.write(`SEED=${propertySeed}, settings drawn:\n${drawnSettings.join('\n')}\n`);
});
