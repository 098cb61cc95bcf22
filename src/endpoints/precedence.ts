/** The saved queries that come with the service (contract 1.1): no other file can take their names. */
const promised: ReadonlySet<string> = new Set(['logs.all', 'usage.api-counts']);

type Named = { readonly name: string };

/** Whether a saved query comes with the service. */
export function isPromised({ name }: Named): boolean {
  return promised.has(name);
}

/**
 * The order in which files get names that more than one of them claims: the same in each process that reads the same files, in whatever
 * order they were added. The shorter name is first, because copies mostly have longer ones (`orders-copy`, `my.orders`); then the
 * alphabet decides.
 */
export function byPrecedence(a: Named, b: Named): number {
  return (
    Number(isPromised(b)) - Number(isPromised(a)) ||
    a.name.length - b.name.length ||
    (a.name < b.name ? -1 : 1)
  );
}
