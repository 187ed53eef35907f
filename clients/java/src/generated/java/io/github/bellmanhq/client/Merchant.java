// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Merchant, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param created see the API
 * @param merchantNo see the API
 * @param name see the API
 * @param notifyUrl see the API
 * @param perEndpoint see the API
 * @param schedule see the API
 * @param success see the API
 * @param timeout see the API
 * @param updated see the API
 * @param version Changes with each change of the merchant. A PUT with this version changes the merchant only if nobody else has changed it.
 * @param backlog Notifications that have not ended; absent in an export, and if a list had no time to count them.
 * @param failing true if none of the newest attempts of its newest tasks was accepted, of three or more within a day; otherwise absent.
 * @param lastHour Attempts of notifications of the last hour; absent: none is known.
 * @param paused Absent unless it is paused.
 * @param problem Why nothing can be sent to this merchant now: a master key is missing, or the secrets cannot be opened.
 * @param sign Default: the queue's signature.
 */
public record Merchant(
        Instant created,
        String merchantNo,
        String name,
        String notifyUrl,
        MerchantLimits perEndpoint,
        String schedule,
        String success,
        String timeout,
        Instant updated,
        String version,
        Backlog backlog,
        Boolean failing,
        Hour lastHour,
        Pause paused,
        String problem,
        ShownMerchantSign sign) {
    static Merchant of(Object json) {
        var r = Shape.Reader.of("Merchant", json);
        return new Merchant(
                r.time("created"),
                r.text("merchant_no"),
                r.text("name"),
                r.text("notify_url"),
                r.shape("per_endpoint", MerchantLimits::of),
                r.text("schedule"),
                r.text("success"),
                r.text("timeout"),
                r.time("updated"),
                r.text("version"),
                r.shape("backlog", Backlog::of),
                r.bool("failing"),
                r.shape("last_hour", Hour::of),
                r.shape("paused", Pause::of),
                r.text("problem"),
                r.shape("sign", ShownMerchantSign::of));
    }
}
