// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Reconciliations, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param reconciliations see the API
 */
public record Reconciliations(
        List<Reconciliation> reconciliations) {
    static Reconciliations of(Object json) {
        var r = Shape.Reader.of("Reconciliations", json);
        return new Reconciliations(
                r.list("reconciliations", Reconciliation::of));
    }
}
