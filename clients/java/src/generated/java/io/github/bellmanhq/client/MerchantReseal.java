// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * MerchantReseal, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param examined Merchants and accounts.
 * @param resealed Those whose secrets are under the newest master key now.
 * @param unreadable Those whose secrets cannot be opened; they stay unchanged.
 * @param firstError see the API
 */
public record MerchantReseal(
        int examined,
        int resealed,
        int unreadable,
        String firstError) {
    static MerchantReseal of(Object json) {
        var r = Shape.Reader.of("MerchantReseal", json);
        return new MerchantReseal(
                r.int32("examined", 0),
                r.int32("resealed", 0),
                r.int32("unreadable", 0),
                r.text("first_error"));
    }
}
