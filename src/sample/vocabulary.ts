import { quoteText } from '../googlesql/tree/quote-text.ts';
import { weigh } from './draws.ts';

/** References of the sample's projects, busiest first. */
export const sampleProjects = [
  'xkqjzpwmtrnbvhsdlcfy',
  'awodrmhznqxyktvulpeb',
  'pfuyqbcmlgzstkvhnera',
  'rjtwnozekdplxyqiuhsc',
  'mbvgfhcalkyetxzdqnwo',
  'zuyipseroqjhlvkgbxtn',
] as const;

/** Draws a row's project. */
export const project = weigh(
  'project',
  sampleProjects.map((ref, at) => [quoteText(ref), [40, 25, 15, 10, 6, 4][at]!] as const),
);

/** Words that several sources use. */
export const tables = ['todos', 'profiles', 'messages', 'orders', 'products', 'events', 'rooms', 'invoices'];
export const functionNames = ['send-email', 'stripe-webhook', 'resize', 'hello-world'];

export const userAgents = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'node', 'Dart/3.4 (dart:io)', 'okhttp/4.12.0', 'curl/8.7.1', 'python-httpx/0.27.0',
]; // biome-ignore format: a list
