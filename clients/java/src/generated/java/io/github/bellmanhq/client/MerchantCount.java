// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantCount, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param merchantNo see the API
 * @param tasks see the API
 */
public record MerchantCount(
        String merchantNo,
        int tasks) {
    static MerchantCount of(Object json) {
        var r = Shape.Reader.of("MerchantCount", json);
        return new MerchantCount(
                r.text("merchant_no"),
                r.int32("tasks", 0));
    }
}
