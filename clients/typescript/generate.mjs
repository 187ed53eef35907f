// Writes src/schema.ts from ../openapi.json. Where the document leaves an answer open to more fields than it names, its
// enums are open too: a newer server may have more values, and a switch over them wants a default.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const input = new URL("../openapi.json", import.meta.url);
const output = process.argv[2] ?? new URL("src/schema.ts", import.meta.url);
const { schemas } = JSON.parse(await readFile(input, "utf8")).components;

const { factory } = ts;
const anyOther = factory.createIntersectionTypeNode([
  factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
  factory.createTypeLiteralNode([]),
]);

const ast = await openapiTS(input, {
  transform(schema, { path }) {
    const name = path?.match(/^#\/components\/schemas\/([^/]+)/)?.[1];
    if (!schema.enum || !name || schemas[name].additionalProperties === false) return undefined;
    const values = schema.enum.map((v) => factory.createLiteralTypeNode(factory.createStringLiteral(v)));
    return factory.createUnionTypeNode([...values, anyOther]);
  },
});

await writeFile(
  output,
  "// Code generated from ../openapi.json by generate.mjs with openapi-typescript. DO NOT EDIT.\n\n" + astToString(ast),
);
