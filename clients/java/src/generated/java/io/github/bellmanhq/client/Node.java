// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Node, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param addr Address of its API; may be empty.
 * @param alive The node is alive. Other nodes may claim the shards of a node that is not.
 * @param beat Time of the last heartbeat, by the store's clock.
 * @param joined see the API
 * @param name Changes at each start, and after an absence in which other nodes claimed its shards.
 * @param self The node that answers this request.
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
