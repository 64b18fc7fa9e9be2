// Lays TLPs on the requester request interface of an UltraScale+ PCIe block (PG213), 512 bits, doubleword aligned, with straddling: a TLP
// begins in byte 0 or 32 of a beat, so also in one in which another ends. The header is 16 bytes in front of the payload: half a beat
// more a TLP, where without straddling it is a whole one. A TLP that is poisoned ends alone in its beat, and is discontinued there.
//
// A beat of payload fills two halves and, at a TLP's end, perhaps a third: `a`, behind the header or what the beat before left, `b`, `c`. One
// half is kept for the next beat at most; where there are four, the beat of payload waits until two are gone.
// Every GROUP_W bits of data have their own copy of the control, so that none drives more; all copies are always equal.
module tlp_rq
  import pcie_pkg::*;
#(
    localparam int unsigned DataW = 512,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned UserW = 137
) (
    input logic clk,
    input logic rst,

    input  logic      [  DataW-1:0] s_axis_tlp_tdata,
    input  logic      [DwordsW-1:0] s_axis_tlp_tkeep,
    input  logic                    s_axis_tlp_tlast,
    input  tlp_user_t               s_axis_tlp_tuser,
    input  logic                    s_axis_tlp_tvalid,
    output logic                    s_axis_tlp_tready,

    output logic [  DataW-1:0] m_axis_rq_tdata,
    output logic [DwordsW-1:0] m_axis_rq_tkeep,
    output logic               m_axis_rq_tlast,
    output logic [  UserW-1:0] m_axis_rq_tuser,
    output logic               m_axis_rq_tvalid,
    input  logic               m_axis_rq_tready
);

  localparam int unsigned GROUP_W = 128;
  localparam int unsigned GROUPS = DataW / GROUP_W;
  localparam int unsigned HALF_GROUPS = GROUPS / 2;

  // PG213, "Requester Request Descriptor Formats". Requester and completer are the block's to fill in, or not asked for.
  typedef struct packed {
    logic        force_ecrc;
    logic [2:0]  attributes;
    logic [2:0]  traffic_class;
    logic        requester_id_enable;
    logic [15:0] completer_id;
    logic [7:0]  tag;
    logic [15:0] requester_id;
    logic        poisoned;
    logic [3:0]  request_type;
    logic [10:0] dwords;
    logic [61:0] address;
    logic [1:0]  address_type;
  } descriptor_t;

  localparam logic [3:0] MEMORY_READ = 4'b0000;
  localparam logic [3:0] MEMORY_WRITE = 4'b0001;

  // PG213, "Sideband Signal Descriptions in s_axis_rq_tuser" of the interface of 512 bits.
  typedef struct packed {
    logic [63:0]     parity;
    logic [11:0]     seq_num;
    logic [23:0]     tph;
    logic            discontinue;
    logic [1:0][3:0] eop_ptr;      // the doubleword in which the first, the second of them ends
    logic [1:0]      is_eop;
    logic [1:0][1:0] sop_ptr;      // in units of 16 bytes
    logic [1:0]      is_sop;
    logic [3:0]      addr_offset;
    logic [1:0][3:0] last_be;
    logic [1:0][3:0] first_be;
  } user_t;

  // Of half a beat: whether its TLP ends in it, and in which doubleword.
  typedef struct packed {
    logic ends;
    logic poisoned;
    logic [2:0] most;
  } half_t;

  logic first_q;  // this beat begins a TLP
  half_t a, b, c, kept_q, kept, low, high;
  logic keeps, rest, keeps_d, rest_d;  // a half is kept; of this beat `a` has left
  logic [3:0] most;  // the last doubleword of this beat
  logic b_used, c_used, apart, pairs, takes, valid, ready, poisons;
  logic [GROUPS-1:0] readies, valids;
  (* keep, dont_merge *)logic [GROUPS-1:0] keeps_q, rests_q, firsts_q;
  logic keep_q, wait_q;  // as those of data, and first_q too

  assign keeps = keep_q;
  assign rest = wait_q;
  assign poisons = s_axis_tlp_tlast && s_axis_tlp_tuser.poisoned;
  assign b_used = s_axis_tlp_tkeep[4];
  assign c_used = s_axis_tlp_tlast && s_axis_tlp_tkeep[12];

  always_comb begin
    most = '0;
    for (int unsigned k = 1; k < DwordsW; k++) if (s_axis_tlp_tkeep[k]) most = 4'(k);
  end

  assign a = '{
          ends: s_axis_tlp_tlast && !b_used,
          poisoned: poisons,
          most: b_used ? 3'd7 : s_axis_tlp_tuser.request.fence.read ? 3'd3 : {1'b1, most[1:0]}
      };
  assign b = '{ends: s_axis_tlp_tlast && !c_used, poisoned: poisons, most: 3'(most - 4'd4)};
  assign c = '{ends: 1'b1, poisoned: poisons, most: {1'b0, most[1:0]}};

  // Which halves leave together: `low` below, and `high` where there is one.
  assign apart = kept_q.ends && (kept_q.poisoned || (a.ends && a.poisoned));
  assign low = rest ? b : keeps ? kept_q : a;
  assign high = rest ? c : keeps ? a : b;

  always_comb begin
    valid = s_axis_tlp_tvalid;
    pairs = b_used;
    takes = 1'b1;
    keeps_d = c_used;
    rest_d = 1'b0;
    kept = c;
    if (rest) begin
      pairs = 1'b1;
      keeps_d = 1'b0;
    end else if (keeps) begin
      valid = s_axis_tlp_tvalid || kept_q.ends;
      pairs = s_axis_tlp_tvalid && !apart;
      takes = pairs && !c_used;
      keeps_d = takes && b_used;
      rest_d = pairs && c_used;
      kept = b;
    end
  end

  assign s_axis_tlp_tready = takes && ready;

  always_ff @(posedge clk) begin
    if (valid && ready) begin
      kept_q <= kept;
      keep_q <= keeps_d;
      wait_q <= rest_d;
      if (s_axis_tlp_tvalid && takes) first_q <= s_axis_tlp_tlast;
    end
    if (rst) begin
      first_q <= 1'b1;
      keep_q <= 1'b0;
      wait_q <= 1'b0;
    end
  end

  // Beside the data.
  user_t user;
  logic begins_low, begins_high, ends_low, ends_high;

  assign begins_low = first_q && !rest && !keeps;
  assign begins_high = first_q && !rest && keeps && pairs;
  assign ends_low = low.ends;
  assign ends_high = pairs && high.ends;

  always_comb begin
    user = '0;
    user.first_be[0] = s_axis_tlp_tuser.request.first_be;
    user.last_be[0] = s_axis_tlp_tuser.request.last_be;
    user.is_sop[0] = begins_low || begins_high;
    user.sop_ptr[0] = {begins_high, 1'b0};
    user.is_eop = {ends_low && ends_high, ends_low || ends_high};
    user.eop_ptr[0] = ends_low ? {1'b0, low.most} : {1'b1, high.most};
    user.eop_ptr[1] = {1'b1, high.most};
    user.discontinue = (ends_low && low.poisoned) || (ends_high && high.poisoned);
  end

  axis_reg #(
      .DataW(UserW + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({user, ends_low || ends_high}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_rq_tuser, m_axis_rq_tlast}),
      .m_axis_tvalid(m_axis_rq_tvalid),
      .m_axis_tready(m_axis_rq_tready)
  );

  assign m_axis_rq_tkeep = '1;

  // Data, by groups.
  descriptor_t descriptor;
  logic [GROUP_W-1:0] c_data, behind_q;  // `behind`: the highest doublewords of the TLP's beat before
  logic [HALF_GROUPS-1:0][GROUP_W-1:0] b_data, kept_data, kept_data_q;
  logic [GROUPS-1:0][GROUP_W-1:0] data;

  always_comb begin
    descriptor = '0;
    descriptor.request_type = s_axis_tlp_tuser.request.fence.read ? MEMORY_READ : MEMORY_WRITE;
    descriptor.tag = 8'(s_axis_tlp_tuser.request.fence.tag);
    descriptor.dwords = 11'(s_axis_tlp_tuser.request.dwords);
    descriptor.address = s_axis_tlp_tuser.request.address[63:2];
  end

  assign b_data = s_axis_tlp_tdata[3*GROUP_W-1:GROUP_W];
  assign c_data = s_axis_tlp_tdata[4*GROUP_W-1:3*GROUP_W];
  // Where `b` is kept there is no `c`. That has no more than one group: what is above it is anything.
  assign kept_data = {b_data[1], c_used ? c_data : b_data[0]};

  always_ff @(posedge clk) begin
    if (s_axis_tlp_tvalid && s_axis_tlp_tready) behind_q <= s_axis_tlp_tdata[4*GROUP_W-1:3*GROUP_W];
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned H = g % HALF_GROUPS;
    logic [GROUP_W-1:0] a_data;

    assign a_data = H != 0 ? s_axis_tlp_tdata[GROUP_W-1:0] : firsts_q[g] ? descriptor : behind_q;

    if (g < HALF_GROUPS) begin : gen_low
      assign data[g] = rests_q[g] ? b_data[H] : keeps_q[g] ? kept_data_q[H] : a_data;

      always_ff @(posedge clk) if (valid && readies[g]) kept_data_q[H] <= kept_data[H];
    end else begin : gen_high
      assign data[g] = H == 0 && rests_q[g] ? c_data : keeps_q[g] ? a_data : b_data[H];
    end

    always_ff @(posedge clk) begin
      if (valid && readies[g]) begin
        keeps_q[g] <= keeps_d;
        rests_q[g] <= rest_d;
        if (s_axis_tlp_tvalid && takes) firsts_q[g] <= s_axis_tlp_tlast;
      end
      if (rst) begin
        keeps_q[g] <= 1'b0;
        rests_q[g] <= 1'b0;
        firsts_q[g] <= 1'b1;
      end
    end

    axis_reg #(
        .DataW (GROUP_W),
        .GroupW(GROUP_W / 2)
    ) u_reg (
        .clk,
        .rst,
        .s_axis_tdata (data[g]),
        .s_axis_tvalid(valid),
        .s_axis_tready(readies[g]),
        .m_axis_tdata (m_axis_rq_tdata[GROUP_W*g+:GROUP_W]),
        .m_axis_tvalid(valids[g]),
        .m_axis_tready(m_axis_rq_tready)
    );
  end

  logic unused;
  assign unused = ^{valids, s_axis_tlp_tuser.request.address[1:0]};

endmodule
