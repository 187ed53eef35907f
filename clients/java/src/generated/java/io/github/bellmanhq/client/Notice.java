// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Notice, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param queue see the API
 * @param result applied: it decided, or said something new. duplicate: it said what was known. held: it came before its order, and is kept for 24 hours. mismatch: of another amount than the order's. refused: not the channel's, unreadable, or without the amount of an order that has one; it decides nothing, and may cause a query of the order that it names.
 * @param account The account at the channel.
 * @param came see the API
 * @param channelOrderNo The order's number at the channel.
 * @param content The verified and decrypted content, for the roles operate and admin.
 * @param merchantNo Empty while the order does not exist, and if the notice is about none here.
 * @param of What the notice is about.
 * @param orderNo see the API
 * @param refNo The number of the refund or transfer.
 * @param state What it says of a payment: PAID, CLOSED, …; of a refund or transfer: DONE or FAILED_THERE, if it says so.
 * @param task The task that keeps the notice.
 * @param why Why it was refused, or which amount differs.
 */
public record Notice(
        String queue,
        NoticeResult result,
        String account,
        Instant came,
        String channelOrderNo,
        String content,
        String merchantNo,
        NoticeSubject of,
        String orderNo,
        String refNo,
        String state,
        String task,
        String why) {
    static Notice of(Object json) {
        var r = Shape.Reader.of("Notice", json);
        return new Notice(
                r.text("queue"),
                r.shape("result", NoticeResult::of),
                r.text("account"),
                r.time("came"),
                r.text("channel_order_no"),
                r.text("content"),
                r.text("merchant_no"),
                r.shape("of", NoticeSubject::of),
                r.text("order_no"),
                r.text("ref_no"),
                r.text("state"),
                r.text("task"),
                r.text("why"));
    }
}
