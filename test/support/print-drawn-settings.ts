import { afterEach } from 'vitest';
import { drawnSettings } from './draw-settings.ts';
import { propertySeed } from './seed-properties.ts';

/** A test that fails says what was drawn for its gateways, and by which seed. */
afterEach(({ task }) => {
  const drawn = drawnSettings();
  if (task.result?.state !== 'fail' || drawn.length === 0) return;
  process.stderr.write(`SEED=${propertySeed}, settings drawn:\n${drawn.join('\n')}\n`);
});
