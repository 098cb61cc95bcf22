import { fileURLToPath } from 'node:url';

/** The version that the suite is held against; `known-differences.ts` is true of this one. */
export const emulatorVersion = 'v0.8.1';

/** Where `build-emulator.ts` puts the program: in a cache folder that no commit has. */
export const emulatorBinary = fileURLToPath(
  new URL(
    `../../node_modules/.cache/bigquery-emulator/${emulatorVersion}/bigquery-emulator`,
    import.meta.url,
  ),
);
