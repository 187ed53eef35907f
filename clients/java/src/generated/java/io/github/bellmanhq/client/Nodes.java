// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Nodes, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param nodes see the API
 * @param unowned Shards without an owner: their tasks are not attempted until a node claims them.
 */
public record Nodes(
        List<Node> nodes,
        List<Shard> unowned) {
    static Nodes of(Object json) {
        var r = Shape.Reader.of("Nodes", json);
        return new Nodes(
                r.list("nodes", Node::of),
                r.list("unowned", Shard::of));
    }
}
