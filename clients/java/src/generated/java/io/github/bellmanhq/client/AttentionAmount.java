// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AttentionAmount, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param amount In the currency's smallest unit.
 * @param currency ISO 4217.
 * @param orders Orders, refunds or differences that it is the sum of.
 */
public record AttentionAmount(
        long amount,
        String currency,
        int orders) {
    static AttentionAmount of(Object json) {
        var r = Shape.Reader.of("AttentionAmount", json);
        return new AttentionAmount(
                r.int64("amount", 0L),
                r.text("currency"),
                r.int32("orders", 0));
    }
}
