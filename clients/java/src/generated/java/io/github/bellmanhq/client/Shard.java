// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Shard, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param epoch Grows with each new owner.
 * @param shard see the API
 */
public record Shard(
        long epoch,
        int shard) {
    static Shard of(Object json) {
        var r = Shape.Reader.of("Shard", json);
        return new Shard(
                r.int64("epoch", 0L),
                r.int32("shard", 0));
    }
}
