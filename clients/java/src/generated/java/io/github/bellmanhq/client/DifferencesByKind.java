// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * DifferencesByKind, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param amount Another amount or currency.
 * @param duplicate Another payment of an order than the one that is known, or a repeated line.
 * @param missingHere Payments or refunds of orders that bellman does not have.
 * @param missingThere Paid orders that the bill does not have.
 * @param refund Refunds on one side only, or with another amount or outcome.
 * @param state Paid on one side only.
 */
public record DifferencesByKind(
        int amount,
        int duplicate,
        int missingHere,
        int missingThere,
        int refund,
        int state) {
    static DifferencesByKind of(Object json) {
        var r = Shape.Reader.of("DifferencesByKind", json);
        return new DifferencesByKind(
                r.int32("amount", 0),
                r.int32("duplicate", 0),
                r.int32("missing_here", 0),
                r.int32("missing_there", 0),
                r.int32("refund", 0),
                r.int32("state", 0));
    }
}
