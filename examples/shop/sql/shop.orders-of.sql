/*
id: 8d2b1e64-0c9f-4e8e-8b53-1f2a3b4c5d6e
name: shop.orders-of
description: The latest orders of a customer.
parameters:
  customer: { type: STRING, required: true, pattern: "^[0-9]{3}$", examples: ["007"], description: Code of the customer. }
columns:
  order_id: { type: INT64, required: true, description: Number of the order. }
  state: { type: STRING, required: true, description: State of the order. }
  ordered_at: { type: TIMESTAMP, required: true, description: When it was placed. }
maxRows: 100
*/
select order_id, state, ordered_at
from `shop.orders`
where customer = @customer
order by ordered_at desc, order_id
