// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Attentions, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param at see the API
 * @param items What stops every task, then what affects most money, then most tasks. Amounts of different currencies are compared in main units. At most 100. While the database cannot be reached, not_ready is the only item.
 * @param more Items that are left out.
 * @param nodes Number of nodes that these figures cover.
 * @param silent Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes.
 */
public record Attentions(
        Instant at,
        List<Attention> items,
        int more,
        int nodes,
        List<String> silent) {
    static Attentions of(Object json) {
        var r = Shape.Reader.of("Attentions", json);
        return new Attentions(
                r.time("at"),
                r.list("items", Attention::of),
                r.int32("more", 0),
                r.int32("nodes", 0),
                r.list("silent", String.class::cast));
    }
}
