// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Node, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param addr Where its API answers; may be empty.
 * @param alive Its shards are its own; those of one that is not are anybody's.
 * @param beat The last one, by the store's clock.
 * @param joined see the API
 * @param name A new one at each start, and after an absence in which its shards went to others.
 * @param self It is the node that answers.
 * @param shards see the API
 * @param version see the API
 */
public record Node(
        String addr,
        boolean alive,
        Instant beat,
        Instant joined,
        String name,
        boolean self,
        List<Shard> shards,
        String version) {
    static Node of(Object json) {
        var r = Shape.Reader.of("Node", json);
        return new Node(
                r.text("addr"),
                r.bool("alive", false),
                r.time("beat"),
                r.time("joined"),
                r.text("name"),
                r.bool("self", false),
                r.list("shards", Shard::of),
                r.text("version"));
    }
}
