import { globSync, readFileSync } from 'node:fs';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service, ServiceAccount } from 'kubernetes-models/v1';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { variables } from '../../src/composition/config.ts';

/** Kinds by the schemas of Kubernetes' own OpenAPI document. */
const kinds: Record<string, new (data: never) => { validate(): void; toJSON(): unknown }> = {
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
};

const root = new URL('../../', import.meta.url);
const manifests = globSync('deploy/kubernetes/*.yaml', { cwd: root }).flatMap(file =>
  parseAllDocuments(readFileSync(new URL(file, root), 'utf8')).map(document => document.toJS()),
);
const find = (kind: string, name = 'gateway') =>
  manifests.find(each => each.kind === kind && each.metadata.name === name);

test('there are manifests of every kind', () => {
  expect(new Set(manifests.map(({ kind }) => kind))).toEqual(new Set(Object.keys(kinds)));
});

test.each(manifests.map(each => [`${each.kind} ${each.metadata.name}`, each]))(
  '%s is as the schema of its kind says',
  (_name, manifest) => {
    const Kind = kinds[manifest.kind]!;
    expect(() => new Kind(manifest as never).validate()).not.toThrow();
  },
);

test('a manifest that is wrong is found', () => {
  const wrong = structuredClone(find('Deployment'));
  wrong.spec.template.spec.containers[0].ports[0].containerPort = 'http';
  expect(() => new Deployment(wrong).validate()).toThrow();
});

test('selectors, probes and settings name what is there', () => {
  const { spec } = find('Deployment');
  const { labels } = spec.template.metadata;
  expect(spec.selector.matchLabels).toEqual(labels);
  expect(find('Service').spec.selector).toEqual(labels);
  expect(find('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
  const [container] = spec.template.spec.containers;
  expect(container.ports).toEqual([{ name: 'http', containerPort: 4000 }]);
  for (const [probe, path] of [
    ['startupProbe', '/livez'],
    ['livenessProbe', '/livez'],
    ['readinessProbe', '/readyz'],
  ]) {
    expect(container[probe!].httpGet).toEqual({ path, port: 'http' });
  }
  expect(Object.keys(find('ConfigMap').data).filter(name => !(name in variables))).toEqual([]);
  const graceMs = spec.template.spec.terminationGracePeriodSeconds * 1000;
  const pauseMs = container.lifecycle.preStop.sleep.seconds * 1000;
  expect(graceMs).toBeGreaterThan(pauseMs + variables.DRAIN_MS.schema.parse(undefined));
});

test('pods reach the metadata server that has the credentials of Workload Identity', () => {
  type Rule = { readonly to?: { ipBlock: { cidr: string } }[]; readonly ports: { port: number }[] };
  const { egress } = find('NetworkPolicy').spec as { egress: Rule[] };
  const hosts = egress.flatMap(({ to = [], ports }) =>
    to.map(({ ipBlock }) => `${ipBlock.cidr}:${ports[0]?.port}`),
  );
  expect(hosts).toEqual(['169.254.169.252/32:988', '169.254.169.254/32:80']);
});

test('every container runs without rights and can write to its volumes alone', () => {
  for (const name of ['gateway', 'worker']) {
    const { spec } = find('Deployment', name).spec.template;
    expect(spec.securityContext.runAsNonRoot).toBe(true);
    for (const { securityContext } of spec.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  }
});
