// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Stats, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param counts see the API
 * @param lateness Started minus due.
 * @param nodes Number of nodes that these figures cover.
 * @param silent Nodes that did not answer in time, whose figures are missing here. Empty: the figures cover all nodes.
 * @param since Start of the figures: the start of the window, or, if later, the start of the first node.
 * @param took From the start to the last byte.
 */
public record Stats(
        Counts counts,
        Percentiles lateness,
        int nodes,
        List<String> silent,
        Instant since,
        Percentiles took) {
    static Stats of(Object json) {
        var r = Shape.Reader.of("Stats", json);
        return new Stats(
                r.shape("counts", Counts::of),
                r.shape("lateness", Percentiles::of),
                r.int32("nodes", 0),
                r.list("silent", String.class::cast),
                r.time("since"),
                r.shape("took", Percentiles::of));
    }
}
