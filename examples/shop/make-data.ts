/** Writes orders as NDJSON, the same ones for each call: `node examples/shop/make-data.ts 1000 > orders.ndjson`. */
const rows = Number(process.argv[2] ?? 1000);
const startMs = Date.parse('2026-01-01T00:00:00Z');
const skus = ['tea', 'coffee', 'cup', 'pot', 'filter'];
const states = ['open', 'paid', 'paid', 'sent', 'sent', 'sent'];

/** A whole number below `count`, drawn from the number of the order (a linear congruence). */
const draw = (order: number, salt: number, count: number) =>
  (Math.imul(order * 31 + salt, 1_103_515_245) >>> 8) % count;

for (let order = 1; order <= rows; order++) {
  const lines = Array.from({ length: 1 + draw(order, 1, 3) }, (_, line) => ({
    sku: skus[draw(order, 10 + line, skus.length)],
    quantity: 1 + draw(order, 20 + line, 4),
    price: (0.5 + draw(order, 30 + line, 2000) / 100).toFixed(2),
  }));
  const row = {
    order_id: order,
    customer: String(draw(order, 2, 50)).padStart(3, '0'),
    state: states[draw(order, 3, states.length)],
    ordered_at: new Date(startMs + order * 600_000).toISOString(),
    lines,
  };
  process.stdout.write(`${JSON.stringify(row)}\n`);
}
