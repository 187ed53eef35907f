// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * AccountResult, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param account see the API
 * @param status 201: created. 200: changed. 204: unchanged. Otherwise see error.
 * @param error see the API
 */
public record AccountResult(
        String account,
        int status,
        Problem error) {
    static AccountResult of(Object json) {
        var r = Shape.Reader.of("AccountResult", json);
        return new AccountResult(
                r.text("account"),
                r.int32("status", 0),
                r.shape("error", Problem::of));
    }
}
