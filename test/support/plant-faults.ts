import { ChildProcess } from 'node:child_process';

/** Loaded into a process of the tests before its own code: signals that end no process plant faults in it. */
process.on('SIGUSR2', () => {
  throw new Error('A planted error that nobody catches');
});
process.on('SIGWINCH', () => {
  void Promise.reject(new Error('A planted rejection that nobody handles'));
});

// As a process that waits for a disk does.
if (process.env.PLANT_UNENDING) ChildProcess.prototype.kill = () => true;
