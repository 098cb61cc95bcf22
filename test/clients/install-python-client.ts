import { installPythonClient } from './python-client.ts';

/** Makes ready for `npm run test:clients`, or says in a line what is missing. */
try {
  await installPythonClient();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`); // it throws Errors
  process.exitCode = 1;
}
