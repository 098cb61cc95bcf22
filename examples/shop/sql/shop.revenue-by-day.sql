/*
id: 3f0c7a52-5d0e-4a53-9a0b-6c1d2e3f4a5b
name: shop.revenue-by-day
description: Revenue of each day.
parameters:
  states:
    type: STRING
    repeated: true
    values: [open, paid, sent]
    default: [paid, sent]
    description: States of the orders that count.
  since: { type: DATE, default: "2026-01-01", description: First day. }
columns:
  day: { type: DATE, required: true, description: Day in UTC. }
  orders: { type: INT64, required: true, description: Number of orders. }
  revenue: { type: NUMERIC, required: true, description: Sum of quantity times price over their lines. }
cacheSeconds: 300
*/
select
  date(o.ordered_at) as day,
  count(distinct o.order_id) as orders,
  ifnull(sum(l.quantity * l.price), 0) as revenue
from `shop.orders` as o
left join unnest(o.lines) as l
where o.state in unnest(@states) and date(o.ordered_at) >= @since
group by day
order by day
