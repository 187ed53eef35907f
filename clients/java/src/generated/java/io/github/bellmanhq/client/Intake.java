// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Intake, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param heapBytes Live heap after the last garbage collection, in bytes.
 * @param heapHighBytes High mark of heap_bytes: above it new tasks are rejected, until the heap is an eighth below; 0: no limit.
 * @param high High mark of waiting: above it new tasks are rejected.
 * @param low Low mark of waiting: below it new tasks are accepted again.
 * @param open see the API
 * @param waiting Tasks that are overdue or wait for a commit, without deferred tasks. The count stops once it is known to be above high.
 */
public record Intake(
        long heapBytes,
        long heapHighBytes,
        int high,
        int low,
        boolean open,
        int waiting) {
    static Intake of(Object json) {
        var r = Shape.Reader.of("Intake", json);
        return new Intake(
                r.int64("heap_bytes", 0L),
                r.int64("heap_high_bytes", 0L),
                r.int32("high", 0),
                r.int32("low", 0),
                r.bool("open", false),
                r.int32("waiting", 0));
    }
}
