// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Queues, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param intake see the API
 * @param nodes Number of nodes that these figures cover.
 * @param queues see the API
 * @param silent Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes.
 */
public record Queues(
        Intake intake,
        int nodes,
        List<Queue> queues,
        List<String> silent) {
    static Queues of(Object json) {
        var r = Shape.Reader.of("Queues", json);
        return new Queues(
                r.shape("intake", Intake::of),
                r.int32("nodes", 0),
                r.list("queues", Queue::of),
                r.list("silent", String.class::cast));
    }
}
