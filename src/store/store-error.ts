/** A store could not answer; its `cause` is the client's own error. A caller goes on without the store. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
