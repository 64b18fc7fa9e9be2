// Reads memory into a stream: each command (address, length) becomes AXI4 bursts and then one packet of `length` bytes.
// Any address, any length from 1 byte. Bursts of the next commands are issued while the data of the first still come. A burst is
// asked for when there is room for the longest one: the memory's data never wait. Data of a beat that came with an error are marked
// in tuser, and pass. Every GROUP_W bits of data have their own copy of the control, so that none drives more; all copies are always
// equal.
module mm2s
  import axi_pkg::*;
  import framelane_pkg::read_t;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Depth = 32,  // commands under way
    parameter int unsigned Beats = 512,  // asked for and not passed on: cycles of the memory's latency, and a burst
    parameter int unsigned MaxBurst = 256,  // beats of the longest burst; 4 KiB at most in any case

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  read_t s_axis_cmd_tdata,
    input  logic  s_axis_cmd_tvalid,
    output logic  s_axis_cmd_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // bytes of this beat came with an error
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // AXI4 read master, one ID: data return in order
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,

    output logic read_error_o  // pulse: a beat came with a response other than OKAY
);

  localparam int unsigned LANES_W = $clog2(KeepW);
  localparam int unsigned PAGE_W = 12 - LANES_W;  // index of a beat in 4 KiB, which no burst may cross
  localparam int unsigned MAX_W = PAGE_W < $clog2(MaxBurst) ? PAGE_W : $clog2(MaxBurst);  // log2 of the longest burst
  localparam int unsigned BEATS_W = 33 - LANES_W;
  localparam int unsigned ROOM_W = $clog2(Beats) + 1;
  localparam int unsigned STAGES = (LANES_W + 1) / 2;  // of the rotation: two bits of the offset each
  localparam int unsigned FIRST_W = 2 - LANES_W % 2;  // the first may have one: block memory gives what it rotates late
  localparam int unsigned GROUP_W = 64;
  localparam int unsigned GROUPS = DataW / GROUP_W;
  localparam int unsigned GROUP_LANES = GROUP_W / 8;

  typedef logic [LANES_W-1:0] lane_t;
  typedef logic [BEATS_W-1:0] beats_t;
  typedef logic [MAX_W:0] burst_t;
  typedef logic [ROOM_W-1:0] room_t;

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end
  if (MaxBurst < 2 || MaxBurst > 256 || (MaxBurst & (MaxBurst - 1)) != 0) begin : gen_check_burst
    $error("%m: MaxBurst = %0d must be a power of two, 2 to 256", MaxBurst);
  end
  if (Beats < 2 << MAX_W || (Beats & (Beats - 1)) != 0) begin : gen_check_beats
    $error("%m: Beats = %0d must be a power of two, at least two bursts, %0d beats", Beats, 2 << MAX_W);
  end

  // Commands, as they wait: of their last beat and the first one's offset, how many beats that makes more than whole ones.
  typedef struct packed {
    logic [1:0] more;
    read_t read;
  } command_t;

  command_t in_command, command;
  logic command_valid, load;
  beats_t command_beats;

  assign in_command = '{
          more: 2'(((LANES_W + 2)'(s_axis_cmd_tdata.length[LANES_W-1:0]) +
              (LANES_W + 2)'(lane_t'(s_axis_cmd_tdata.address)) + (LANES_W + 2)'(KeepW - 1)) >> LANES_W),
          read: s_axis_cmd_tdata
      };
  assign command_beats = beats_t'(command.read.length[31:LANES_W]) + beats_t'(command.more);

  axis_reg #(
      .DataW($bits(command_t))
  ) u_command (
      .clk,
      .rst,
      .s_axis_tdata (in_command),
      .s_axis_tvalid(s_axis_cmd_tvalid),
      .s_axis_tready(s_axis_cmd_tready),
      .m_axis_tdata (command),
      .m_axis_tvalid(command_valid),
      .m_axis_tready(load)
  );

  // Address side: whole beats, cut at every multiple of the longest burst, which is also a cut at every 4 KiB. In one cycle a burst is
  // cut, from the next on it is on offer, if there is room.
  logic [63-LANES_W:0] address_q;  // in beats
  beats_t unasked_q;  // beats of the command not yet asked for
  burst_t whole_q, burst_q, spent_q;  // up to the next cut; on offer; asked for in the last cycle
  room_t room, room_q;  // beats for which there is room
  logic [7:0] len_q;
  logic busy_q, cut_q, offered_q, last_q, cuts, info_ready, asked, came, passed_q, passes;

  assign room  = room_q - room_t'(spent_q) + room_t'(passed_q);
  assign cuts  = busy_q && !cut_q;
  assign asked = offered_q && m_axi_i.arready;
  assign load = command_valid && info_ready && (!busy_q || (asked && last_q));

  always_ff @(posedge clk) begin
    if (asked) begin
      address_q <= {address_q[63-LANES_W:MAX_W] + 1'b1, MAX_W'(0)};
      unasked_q <= unasked_q - beats_t'(burst_q);
      whole_q <= burst_t'(1 << MAX_W);
      busy_q <= !last_q;
      cut_q <= 1'b0;
    end else if (cuts) begin
      last_q  <= unasked_q <= beats_t'(whole_q);
      burst_q <= unasked_q <= beats_t'(whole_q) ? burst_t'(unasked_q) : whole_q;
      len_q   <= unasked_q <= beats_t'(whole_q) ? 8'(unasked_q - 1'b1) : 8'(whole_q - 1'b1);
      cut_q   <= 1'b1;
    end
    if (load) begin
      address_q <= command.read.address[63:LANES_W];
      unasked_q <= command_beats;
      whole_q <= burst_t'(1 << MAX_W) - burst_t'(command.read.address[LANES_W+:MAX_W]);
      busy_q <= 1'b1;
    end
    spent_q <= asked ? burst_q : '0;
    passed_q <= passes;
    room_q <= room;
    offered_q <= !asked && (cut_q || cuts) && room[ROOM_W-1:MAX_W] != '0;
    if (rst) begin
      busy_q <= 1'b0;
      cut_q <= 1'b0;
      offered_q <= 1'b0;
      spent_q <= '0;
      passed_q <= 1'b0;
      room_q <= room_t'(Beats);
    end
  end

  assign m_axi_o = '{
          araddr: {address_q, LANES_W'(0)},
          arlen: len_q,
          arsize: 3'(LANES_W),
          arburst: 2'b01,  // INCR
          arcache: 4'b0011,  // normal memory, not cacheable, bufferable
          arprot: 3'b000,
          arvalid: offered_q,
          rready: 1'b1  // there is room for all that was asked for
      };

  // Data side: what the memory gives, beside what its command says of it. `failed`: the bytes of this beat are wrong.
  typedef struct packed {
    lane_t       offset;
    logic        one_beat;
    beats_t      beats;
    logic [31:0] length;
  } info_t;

  typedef struct packed {
    logic        valid;
    logic        failed;
    logic        first;
    logic        last;
    lane_t       offset;
    logic        single;  // the command's bytes fill one beat at most
    logic [31:0] length;
  } beat_t;

  beat_t [STAGES:0] beat;
  logic [STAGES:0][DataW-1:0] beat_data;  // [s]: rotated by the bits of the offset of the first s stages
  info_t next_info, info_q;
  logic next_valid, info_valid_q, first_q, final_q, follows, wrong, data_valid, data_failed, data_ready, en;

  assign came = m_axi_i.rvalid;
  assign wrong = m_axi_i.rresp != 2'b00;
  assign read_error_o = came && wrong;

  axis_buffer #(
      .DataW(DataW + 1),
      .Depth(Beats)
  ) u_data (
      .clk,
      .rst,
      .s_axis_tdata ({wrong, m_axi_rdata}),
      .s_axis_tvalid(came),
      .s_axis_tready(data_ready),
      .m_axis_tdata ({data_failed, beat_data[0]}),
      .m_axis_tvalid(data_valid),
      .m_axis_tready(en && info_valid_q)
  );

  axis_fifo #(
      .DataW($bits(info_t)),
      .Depth(Depth)
  ) u_info (
      .clk,
      .rst,
      .s_axis_tdata ({lane_t'(command.read.address), command_beats == beats_t'(1), command_beats, command.read.length}),
      .s_axis_tvalid(load),
      .s_axis_tready(info_ready),
      .m_axis_tdata (next_info),
      .m_axis_tvalid(next_valid),
      .m_axis_tready(follows)
  );

  assign passes = data_valid && en && info_valid_q;
  assign follows = !info_valid_q || (passes && final_q);

  always_ff @(posedge clk) begin
    if (follows) begin
      info_q <= next_info;
      info_valid_q <= next_valid;
      first_q <= 1'b1;
      final_q <= next_info.one_beat;
    end else if (passes) begin
      info_q.beats <= info_q.beats - 1'b1;
      first_q <= 1'b0;
      final_q <= info_q.beats == beats_t'(2);
    end
    if (rst) info_valid_q <= 1'b0;
  end

  assign beat[0] = '{
          valid: data_valid && info_valid_q,
          failed: data_failed,
          first: first_q,
          last: final_q,
          offset: info_q.offset,
          single: info_q.length <= 32'(KeepW),
          length: info_q.length
      };

  // Rotation by the offset, so that the command's first byte comes to lane 0.
  function automatic logic [DataW-1:0] rotated(input logic [DataW-1:0] data, input int unsigned lanes);
    return DataW'({data, data} >> (8 * (lanes % KeepW)));
  endfunction

  for (genvar s = 0; s < STAGES; s++) begin : gen_beat
    always_ff @(posedge clk) begin
      if (en) beat[s+1] <= beat[s];
      if (rst) beat[s+1].valid <= 1'b0;
    end
  end

  // Two beats make one: its lower lanes are of the earlier one, as far as the offset says. A first beat only waits, unless it is
  // all there is, or nothing is to be parted. What the last one leaves behind follows in a cycle of its own.
  beat_t now;
  logic [KeepW-1:0] earlier, keep;
  logic [31:0] left, left_q;  // bytes of the command not yet given, this beat's included
  logic last_left_q;  // they fill one beat at most
  logic entire_q, waits_q, rests, rest_q, previous_failed_q, valid, failed, last, ready;
  (* keep, dont_merge *)logic [GROUPS-1:0] rests_q, valids_q;  // a rest, and a beat in `now`
  logic [GROUPS-1:0] readies, valids;

  assign now = beat[STAGES];
  assign rest_q = rests_q[0];
  assign en = ready && !rest_q;
  assign valid = rest_q || (now.valid && !waits_q);
  assign rests = now.valid && now.last && !waits_q && !last;
  assign left = now.first && !rest_q ? now.length : left_q;
  assign last = now.first && !rest_q ? now.single : last_left_q;
  assign keep = last ? ~(~KeepW'(0) << left[LANES_W:0]) : '1;
  assign earlier = rest_q ? '1 : entire_q ? '0 : ~(~KeepW'(0) << ((LANES_W + 1)'(KeepW) - (LANES_W + 1)'(now.offset)));
  assign failed = (now.failed && !rest_q) || (previous_failed_q && earlier != '0);

  // Of `now`: a cycle before, for the end of the path that asks whether there is room comes late
  always_ff @(posedge clk) begin
    if (en) begin
      entire_q <= beat[STAGES-1].offset == '0 || (beat[STAGES-1].first && beat[STAGES-1].last);
      waits_q <= beat[STAGES-1].first && beat[STAGES-1].offset != '0 && !beat[STAGES-1].last;
    end
  end

  always_ff @(posedge clk) begin
    if (en && now.valid) begin
      previous_failed_q <= now.failed;
      left_q <= waits_q ? now.length : left - 32'(KeepW);
      last_left_q <= waits_q ? now.single : left <= 32'(2 * KeepW);
    end
  end

  axis_reg #(
      .DataW(2)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({failed, last}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  // The data of a group: what goes on with `en`, of which it has a copy.
  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GROUP_W;
    localparam int unsigned LANE = g * GROUP_LANES;

    lane_t [STAGES-1:0] offset;  // as those of the beats
    logic group_en;
    logic [GROUP_W-1:0] previous_q, data;

    assign group_en = readies[g] && !rests_q[g];

    for (genvar s = 0; s < STAGES; s++) begin : gen_rotate
      localparam int unsigned BIT = s == 0 ? 0 : FIRST_W + 2 * (s - 1);  // the lowest of the offset's
      localparam int unsigned WIDTH = s == 0 ? FIRST_W : 2;
      logic [WIDTH-1:0] digit;
      assign digit = WIDTH'(offset[s] >> BIT);

      always_ff @(posedge clk) begin
        if (group_en) begin
          for (int unsigned k = 0; k < 1 << WIDTH; k++) begin
            if (digit == WIDTH'(k)) beat_data[s+1][AT+:GROUP_W] <= GROUP_W'(rotated(beat_data[s], k << BIT) >> AT);
          end
        end
      end
    end

    always_ff @(posedge clk) begin
      if (!info_valid_q || (data_valid && group_en && final_q)) offset[0] <= next_info.offset;
      if (group_en) for (int unsigned s = 1; s < STAGES; s++) offset[s] <= offset[s-1];
      if (group_en) valids_q[g] <= beat[STAGES-1].valid;
      if (group_en && valids_q[g]) previous_q <= beat_data[STAGES][AT+:GROUP_W];
      rests_q[g] <= rests_q[g] ? !readies[g] : readies[g] && rests;
      if (rst) begin
        valids_q[g] <= 1'b0;
        rests_q[g] <= 1'b0;
      end
    end

    always_comb begin
      for (int unsigned k = 0; k < GROUP_LANES; k++) begin
        data[8*k+:8] = earlier[LANE+k] ? previous_q[8*k+:8] : beat_data[STAGES][AT+8*k+:8];
      end
    end

    axis_reg #(
        .DataW(GROUP_W + GROUP_LANES)
    ) u_reg (
        .clk,
        .rst,
        .s_axis_tdata ({keep[LANE+:GROUP_LANES], data}),
        .s_axis_tvalid(valid),
        .s_axis_tready(readies[g]),
        .m_axis_tdata ({m_axis_tkeep[LANE+:GROUP_LANES], m_axis_tdata[AT+:GROUP_W]}),
        .m_axis_tvalid(valids[g]),
        .m_axis_tready
    );
  end

  logic unused;
  assign unused = ^{m_axi_i.rlast, data_ready, valids, command.more, info_q.one_beat};

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !came || data_ready)
    else $error("%m: data came that were not asked for");
  end
`endif

endmodule
