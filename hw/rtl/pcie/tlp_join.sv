// Gives TLPs their payload, whose bytes it moves to the lanes of their addresses: the first doubleword of each TLP is lanes 0 to 3. A beat in
// every cycle in which there are a TLP and its payload, none lost between TLPs or descriptors. The payload of a descriptor is one packet.
// What must not be sent takes its payload and leaves nothing. Bytes that no enable names are anything. A fence is a beat without payload.
// Every GROUP_W bits of data have their own copy of the control, so that none drives more; all copies are always equal.
module tlp_join
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32
) (
    input logic clk,
    input logic rst,

    input  tlp_t s_axis_tlp_tdata,
    input  logic s_axis_tlp_tvalid,
    output logic s_axis_tlp_tready,

    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tuser,   // bytes of this beat are wrong
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    output logic      [  DataW-1:0] m_axis_tdata,
    output logic      [DwordsW-1:0] m_axis_tkeep,   // a bit a doubleword
    output logic                    m_axis_tlast,
    output tlp_user_t               m_axis_tuser,
    output logic                    m_axis_tvalid,
    input  logic                    m_axis_tready,

    // One pulse a descriptor, in their order: all of its payload is taken
    output logic    status_valid_o,
    output status_e status_o
);

  if (DataW != 128 && DataW != 256 && DataW != 512) begin : gen_check
    $error("%m: DataW = %0d must be 128, 256 or 512", DataW);
  end

  localparam int unsigned LANES_W = $clog2(KeepW);
  localparam int unsigned STAGES = (LANES_W + 1) / 2;  // of the move, two bits of the distance each
  localparam int unsigned GROUP_W = 128;
  localparam int unsigned GROUPS = DataW / GROUP_W;
  localparam int unsigned GROUP_LANES = GROUP_W / 8;

  typedef logic [LANES_W-1:0] lane_t;

  typedef enum logic {
    SEND,    // beats of TLPs
    DISCARD  // drops the rest of the descriptor's payload
  } state_e;

  // The TLP under way, `left` beats behind this one.
  tlp_t tlp_q;
  logic tlp_valid_q, first_q, tlp_ready;
  logic [4:0] left_q;
  (* keep, dont_merge *)logic [GROUPS-1:0][LANES_W-1:0] earlier_q;  // tlp_q's

  state_e state_q, state_d;
  logic last, skipped, skips, silent, wants, take, valid, go, ready, popped, descriptor_end;

  // Whether the payload is what the descriptor says. Only the last beat of a packet may be partial.
  logic [KeepW-1:0] wanted;
  logic final_take, missing, beyond, ended, ended_q, is_short, too_short_q, is_long, too_long_q, bad, bad_q;
  logic held_bad_q;  // the payload beat before came with errors, and is of this descriptor
  logic poisoned, poisoned_q;
  status_e said, said_q;

  assign last = left_q == '0;
  assign skipped = tlp_q.refused || (too_short_q && first_q);
  assign silent = tlp_q.status != OK;
  assign wants = !last || tlp_q.reads_last;
  assign take = wants && !ended_q && !skipped;
  assign valid = tlp_valid_q && state_q == SEND && !skipped && (!take || s_axis_payload_tvalid);
  assign go = valid && (ready || silent);
  assign skips = tlp_valid_q && state_q == SEND && skipped;
  assign popped = (go && last) || skips;
  assign tlp_ready = !tlp_valid_q || popped;
  assign s_axis_tlp_tready = tlp_ready;
  assign s_axis_payload_tready = (go && take) || state_q == DISCARD;

  assign final_take = take && tlp_q.final_read && (tlp_q.reads_last ? last : left_q == 5'd1);
  always_comb for (int unsigned k = 0; k < KeepW; k++) wanted[k] = !final_take || lane_t'(k) <= lane_t'(tlp_q.tail);
  assign missing = (wanted & ~s_axis_payload_tkeep) != '0;
  assign beyond = (~wanted & s_axis_payload_tkeep) != '0;

  assign ended = ended_q || (take && s_axis_payload_tlast);
  assign is_short = take && (missing || (s_axis_payload_tlast && !final_take));
  assign is_long = final_take && (beyond || !s_axis_payload_tlast);
  assign bad = take && s_axis_payload_tuser;
  assign poisoned = poisoned_q || is_short || bad || (first_q && held_bad_q && earlier_q[0] != '0);
  assign said = said_q == OK ? tlp_q.status : said_q;

  assign descriptor_end = state_q == DISCARD ? s_axis_payload_tvalid && s_axis_payload_tlast :
      popped && tlp_q.ends && (skipped ? ended_q || tlp_q.empty : ended || tlp_q.request.fence.read);

  always_comb begin
    state_d = state_q;
    if (descriptor_end) state_d = SEND;
    else if (popped && tlp_q.ends) state_d = DISCARD;
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (tlp_ready) begin
      tlp_q <= s_axis_tlp_tdata;
      tlp_valid_q <= s_axis_tlp_tvalid;
      left_q <= s_axis_tlp_tdata.beats;
      first_q <= 1'b1;
      poisoned_q <= 1'b0;
    end else if (go) begin
      left_q <= left_q - 1'b1;
      first_q <= 1'b0;
      poisoned_q <= poisoned;
    end
    if (go) begin
      ended_q <= ended;
      too_short_q <= too_short_q || is_short;
      too_long_q <= too_long_q || is_long;
      bad_q <= bad_q || bad;
      if (take) held_bad_q <= s_axis_payload_tuser;
    end
    if (popped) said_q <= said;
    if (rst || descriptor_end) begin
      ended_q <= 1'b0;
      too_short_q <= 1'b0;
      too_long_q <= 1'b0;
      bad_q <= 1'b0;
      held_bad_q <= 1'b0;
      said_q <= OK;
    end
    if (rst) begin
      state_q <= SEND;
      tlp_valid_q <= 1'b0;
    end
  end

  // What the status needs, one cycle later.
  status_e given_q;
  logic was_short_q, was_long_q, was_bad_q;

  always_ff @(posedge clk) begin
    status_valid_o <= descriptor_end;
    given_q <= state_q == DISCARD ? said_q : said;
    was_short_q <= too_short_q || (go && is_short);
    was_long_q <= too_long_q || (go && is_long);
    was_bad_q <= bad_q || (go && bad);
    if (rst) status_valid_o <= 1'b0;
  end

  always_comb begin
    status_o = given_q;
    if (given_q == OK && was_short_q) status_o = SHORT;
    else if (given_q == OK && was_long_q) status_o = LONG;
    else if (given_q == OK && was_bad_q) status_o = BAD_PAYLOAD;
  end

  // Lanes. Of this payload beat above the one before, a beat out shows `KeepW` lanes from lane `KeepW - earlier` on: that is lane 1,
  // and as many more as the bits of `earlier` that are not set say.
  logic [KeepW-1:0][7:0] previous_q;
  logic [STAGES:0][2*KeepW-2:0][7:0] moved;  // [s]: without the lanes that the highest s pairs of bits leave out
  logic [GROUPS-1:0] readies, valids;

  assign moved[0] = {s_axis_payload_tdata, previous_q[KeepW-1:1]};

  for (genvar s = 0; s < STAGES; s++) begin : gen_stage
    localparam int unsigned BIT = 2 * (STAGES - 1 - s);
    localparam int unsigned STEP = 1 << BIT;
    localparam int unsigned MOST = (BIT + 2 > LANES_W ? 1 : 3) * STEP;
    // Lanes that the stages up to this one need to show.
    localparam int unsigned NEED = KeepW - 1 + STEP;

    for (genvar k = 0; k < 2 * KeepW - 1; k++) begin : gen_lane
      if (k < NEED) begin : gen_move
        localparam int unsigned GROUP = k / GROUP_LANES < GROUPS ? k / GROUP_LANES : GROUPS - 1;
        logic [1:0] digit;
        assign digit = 2'(~earlier_q[GROUP] >> BIT);

        always_comb begin
          moved[s+1][k] = moved[s][k];
          for (int unsigned d = 1; d < 4; d++) begin
            if (d * STEP <= MOST && digit == 2'(d)) moved[s+1][k] = moved[s][k+d*STEP];
          end
        end
      end else begin : gen_none
        assign moved[s+1][k] = '0;
      end
    end
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned LANE = g * GROUP_LANES;

    logic group_go;
    assign group_go = valid && (readies[g] || silent);

    always_ff @(posedge clk) begin
      if (!tlp_valid_q || (group_go && last) || skips) earlier_q[g] <= lane_t'(s_axis_tlp_tdata.earlier);
      if (group_go && take) begin
        previous_q[LANE+:GROUP_LANES] <= s_axis_payload_tdata[8*LANE+:GROUP_W];
      end
    end

    axis_reg #(
        .DataW(GROUP_W)
    ) u_reg (
        .clk,
        .rst,
        .s_axis_tdata (moved[STAGES][LANE+:GROUP_LANES]),
        .s_axis_tvalid(valid && !silent),
        .s_axis_tready(readies[g]),
        .m_axis_tdata (m_axis_tdata[8*LANE+:GROUP_W]),
        .m_axis_tvalid(valids[g]),
        .m_axis_tready
    );
  end

  logic [DwordsW-1:0] keep;
  logic [$clog2(DwordsW)-1:0] most;  // index of the last doubleword in the last beat

  assign most = $clog2(DwordsW)'(tlp_q.request.dwords - 1'b1);
  always_comb for (int unsigned k = 0; k < DwordsW; k++) keep[k] = !last || $clog2(DwordsW)'(k) <= most;

  axis_reg #(
      .DataW($bits(tlp_user_t) + DwordsW + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({poisoned, tlp_q.request, last, keep}),
      .s_axis_tvalid(valid && !silent),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  logic unused;
  assign unused = ^{valids, moved[STAGES], previous_q[0], tlp_q.beats, tlp_q.earlier};

endmodule
