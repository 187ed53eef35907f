// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantResult, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param merchantNo see the API
 * @param status 201: created. 200: changed. 204: unchanged. Otherwise see error.
 * @param error see the API
 */
public record MerchantResult(
        String merchantNo,
        int status,
        Problem error) {
    static MerchantResult of(Object json) {
        var r = Shape.Reader.of("MerchantResult", json);
        return new MerchantResult(
                r.text("merchant_no"),
                r.int32("status", 0),
                r.shape("error", Problem::of));
    }
}
