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
 * @param nodes How many nodes these figures are of.
 * @param silent Nodes that did not answer in time: what waits there, is in flight or was done lately is not in these figures. Empty: these are all nodes'.
 * @param since Where the figures begin: the window, or the start if later, of the first node that started.
 * @param took Start to last byte.
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
