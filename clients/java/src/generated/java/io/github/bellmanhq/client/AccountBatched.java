// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AccountBatched, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param results see the API
 */
public record AccountBatched(
        List<AccountResult> results) {
    static AccountBatched of(Object json) {
        var r = Shape.Reader.of("AccountBatched", json);
        return new AccountBatched(
                r.list("results", AccountResult::of));
    }
}
