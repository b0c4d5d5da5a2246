import * as z from 'zod';

/** JSON Schemas for the OpenAPI document, made from the schemas that the code itself checks with. */

export type Json = Record<string, unknown>;
/** `input`: what is sent to the control plane; `output`: what it answers. */
export type Side = 'input' | 'output';

/** Of one document: named schemas are collected in `components`. */
export class Schemas {
  readonly components: Json = {};

  /** JSON Schema of a zod schema; one with an id is kept among the components and referred to. */
  of(schema: z.ZodType, side: Side): Json {
    const made = z.toJSONSchema(schema, {
      io: side,
      unrepresentable: 'any',
      target: 'draft-2020-12',
      reused: 'inline',
      override: ({ zodSchema, jsonSchema }) => asTaken(zodSchema, jsonSchema as Json, side),
    }) as Json;
    const { $schema: _, $defs, id, ...rest } = made as Json & { $defs?: Json; id?: string };
    for (const [name, definition] of Object.entries($defs ?? {}))
      this.components[name] = relink(strip(definition as Json));
    const body = relink(rest) as Json;
    if (typeof id !== 'string') return body;
    this.components[id] = body;
    return ref('schemas', id);
  }
}

export function ref(kind: 'schemas' | 'responses' | 'headers' | 'parameters', name: string): Json {
  return { $ref: `#/components/${kind}/${name}` };
}

/**
 * `later` in the meta of a member: it came later, so an answer may be without it. The schema library counts one with a catch as there.
 * A schema's `openapi` in its meta stands in the place of what is made of it where it is read: the schema library
 * cannot say what a preprocessing or a catch lets in.
 */
function asTaken(schema: z.core.$ZodType, json: Json, side: Side): void {
  const { openapi, later, ...words } = metaOf(schema);
  delete json.openapi;
  delete json.later;
  if (schema instanceof z.ZodObject && Array.isArray(json.required))
    json.required = json.required.filter((name) => !metaOf(schema.shape[name]).later);
  if (openapi === undefined || side === 'output') return;
  const { default: preset } = json;
  for (const name of Object.keys(json)) delete json[name];
  Object.assign(json, words, openapi, preset === undefined ? {} : { default: preset });
}

const metaOf = (schema: z.core.$ZodType): Json => (z.globalRegistry.get(schema) ?? {}) as Json;

function strip(definition: Json): Json {
  const { $schema: _s, id: _i, ...rest } = definition;
  return rest;
}

function relink(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relink);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) =>
      name === '$ref' && typeof item === 'string'
        ? [name, item.replace('#/$defs/', '#/components/schemas/')]
        : [name, relink(item)],
    ),
  );
}
