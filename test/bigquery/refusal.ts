/** A refusal as BigQuery's REST has it, thrown by a fake of it. */
export class Refusal extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}
