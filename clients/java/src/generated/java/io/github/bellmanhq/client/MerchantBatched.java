// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantBatched, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param results see the API
 */
public record MerchantBatched(
        List<MerchantResult> results) {
    static MerchantBatched of(Object json) {
        var r = Shape.Reader.of("MerchantBatched", json);
        return new MerchantBatched(
                r.list("results", MerchantResult::of));
    }
}
