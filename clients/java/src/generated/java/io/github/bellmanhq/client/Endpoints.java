// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Endpoints, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param endpoints see the API
 * @param nodes Number of nodes that these figures cover.
 * @param silent Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes.
 */
public record Endpoints(
        List<Endpoint> endpoints,
        int nodes,
        List<String> silent) {
    static Endpoints of(Object json) {
        var r = Shape.Reader.of("Endpoints", json);
        return new Endpoints(
                r.list("endpoints", Endpoint::of),
                r.int32("nodes", 0),
                r.list("silent", String.class::cast));
    }
}
