// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Intake, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param heapBytes Bytes that lived when garbage was collected last.
 * @param heapHighBytes Of heap_bytes: above it nothing is taken in, until it is an eighth below; 0: no limit.
 * @param high Of waiting: above it nothing is taken in.
 * @param low Of waiting: below it tasks are taken in again.
 * @param open see the API
 * @param waiting Tasks that are overdue or wait to be committed, but for those set aside; counted no further than it takes to know whether they are above high.
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
