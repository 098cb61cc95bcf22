/** The shared store went away or came back; one event for each change. */
export type StoreEvent =
  | { readonly type: 'store.down'; readonly message: string }
  | { readonly type: 'store.up' };
