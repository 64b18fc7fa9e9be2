// Appends payload to headers: header bytes, payload bytes, zeros up to a multiple of four bytes of payload. No ICRC yet.
// The payload of a message is one packet on its stream; each packet but the last takes whole beats of it.
module roce_join
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic         [DataW-1:0] s_axis_hdr_tdata,
    input  logic         [KeepW-1:0] s_axis_hdr_tkeep,
    input  logic                     s_axis_hdr_tlast,
    input  header_user_t             s_axis_hdr_tuser,
    input  logic                     s_axis_hdr_tvalid,
    output logic                     s_axis_hdr_tready,

    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // One pulse a message, in their order: all of its payload is taken
    output logic       status_valid_o,
    output status_e    status_o,
    output logic [7:0] status_qp_o
);

  typedef enum logic [1:0] {
    HEADER,   // passes header beats; the last, partial one takes the first payload bytes with it
    PAYLOAD,  // takes a payload beat for each beat out
    FLUSH,    // all payload is taken: empties what is left of the last beat
    DISCARD   // drops the payload of a refused message
  } state_e;

  state_e state_q, state_d;

  // Payload moves up by the length of the last header beat: one of a few constants, told by where tkeep ends.
  logic [HEADER_KINDS-1:0] shift, shift_q, shift_new;
  logic [13:0] fill;  // header bytes in that beat
  logic [13:0] left, left_q;  // bytes still to be sent, this beat's included
  logic [12:0] unread, unread_q;  // payload bytes not yet taken, this beat's included
  logic [DataW-1:0] header, payload, previous_q, shifted;
  logic merge, take, valid, last, ready, go;
  logic refused, header_done;
  header_user_t user, user_q;

  always_comb begin
    shift_new = '0;
    fill = '0;
    for (int unsigned kind = 0; kind < HEADER_KINDS; kind++) begin
      if (s_axis_hdr_tkeep[header_bytes(2'(kind))%KeepW-1] && !s_axis_hdr_tkeep[header_bytes(2'(kind))%KeepW]) begin
        shift_new[kind] = 1'b1;
        fill = 14'(header_bytes(2'(kind)) % KeepW);
      end
    end
  end

  assign user = state_q == HEADER ? s_axis_hdr_tuser : user_q;
  assign refused = user.status != OK;
  assign header_done = s_axis_hdr_tvalid && s_axis_hdr_tready && s_axis_hdr_tlast;
  assign merge = state_q == HEADER && s_axis_hdr_tlast;
  assign take = merge || state_q == PAYLOAD;  // this beat needs a payload beat
  assign shift = merge ? shift_new : shift_q;
  assign left = merge ? fill + {1'b0, (user.length + 13'd3) & ~13'd3} : left_q;
  assign unread = merge ? user.length : unread_q;
  assign last = (state_q != HEADER || merge) && left < 14'(KeepW);  // never equal: headers end 2 bytes behind a word

  always_comb begin
    unique case (state_q)
      HEADER:  valid = s_axis_hdr_tvalid && !refused && (!s_axis_hdr_tlast || s_axis_payload_tvalid);
      PAYLOAD: valid = s_axis_payload_tvalid;
      FLUSH:   valid = 1'b1;
      default: valid = 1'b0;
    endcase
  end

  assign go = valid && ready;
  assign s_axis_hdr_tready = state_q == HEADER && (refused || go);
  assign s_axis_payload_tready = (take && go) || state_q == DISCARD;

  always_comb begin
    state_d = state_q;
    if (state_q == DISCARD) begin
      if (s_axis_payload_tvalid && s_axis_payload_tlast) state_d = HEADER;
    end else if (state_q == HEADER && s_axis_hdr_tvalid && refused) begin
      if (s_axis_hdr_tlast && user.length != '0) state_d = DISCARD;
    end else if (go && (take || state_q == FLUSH)) begin
      if (last) state_d = HEADER;
      else if (unread > 13'(KeepW)) state_d = PAYLOAD;
      else state_d = FLUSH;
    end
  end

  // Bytes that are not kept count as zero: they become the pad.
  always_comb begin
    for (int unsigned k = 0; k < KeepW; k++) begin
      payload[8*k+:8] = take && s_axis_payload_tkeep[k] ? s_axis_payload_tdata[8*k+:8] : 8'd0;
    end
    shifted = '0;
    for (int unsigned kind = 0; kind < HEADER_KINDS; kind++) begin
      if (shift[kind]) begin
        shifted |= DataW'({payload, previous_q} >> (8 * (KeepW - header_bytes(2'(kind)) % KeepW)));
      end
    end
  end
  assign header = state_q == HEADER ? s_axis_hdr_tdata : '0;

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (go) begin
      shift_q <= shift;
      left_q <= left - 14'(KeepW);
      unread_q <= unread - 13'(KeepW);
      previous_q <= last ? '0 : payload;
    end
    if (rst) begin
      state_q <= HEADER;
      previous_q <= '0;
    end
  end

  // A message ends with its last packet, or with its payload where it is refused.
  always_ff @(posedge clk) begin
    user_q <= user;
    status_valid_o <= user.ends && state_d == HEADER && (state_q != HEADER || header_done);
    status_o <= user.status;
    status_qp_o <= user.index;
    if (rst) status_valid_o <= 1'b0;
  end

  logic [KeepW-1:0] keep;
  assign keep = last ? ~(~KeepW'(0) << left[$clog2(KeepW)-1:0]) : '1;

  axis_reg #(
      .DataW(DataW + KeepW + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({last, keep, header | shifted}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
