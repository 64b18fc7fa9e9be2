// slot_ring gives no slot to a frame while another one is in it, and every slot comes back. Slots follow each other
// from the base on. A frame is in its slot until it has failed, or its event was taken and released. One frame, any, is
// followed from its beginning to the end of its slot's use. Frames are numbered modulo twice MaxSlots.
module slot_ring_formal
  import framelane_pkg::frame_t;
  import framelane_pkg::frame_info_t;
  import framelane_pkg::time_flags_t;
#(
    parameter int unsigned DataW = 64,
    parameter int unsigned MaxSlots = 4,
    parameter bit TimeFlags = 1'b0,

    localparam int unsigned PtrW = $clog2(MaxSlots),
    localparam int unsigned FrameW = $bits(frame_t) - (TimeFlags ? 0 : $bits(time_flags_t))
) (
    input logic clk,
    input logic rst,

    input logic [63:0] base_i,
    input logic [31:0] slot_bytes_i,
    input logic [15:0] slots_i,
    input logic        restart_i,

    input logic               free_o,
    input logic        [63:0] address_o,
    input logic               take_i,
    input frame_info_t        info_i,
    input logic        [63:0] kind_index_i,

    input logic done_i,
    input logic failed_i,

    input frame_t m_axis_frame_tdata,
    input logic   m_axis_frame_tvalid,
    input logic   m_axis_frame_tready,
    input logic   release_i,

    input logic idle_o,

    input logic [      PtrW:0] in_use_q,
    input logic [        15:0] index_q,
    input logic [        63:0] next,
    input logic [      PtrW:0] owed_q,
    input logic [      PtrW:0] releases_q,
    input logic                leaves,
    input logic                freed,

    input logic [FrameW-1:0] frames         [MaxSlots],
    input logic [FrameW-1:0] frame_left,
    input logic [    PtrW:0] frames_write_q,
    input logic [    PtrW:0] frames_read_q,
    input logic              frames_full_q,
    input logic              frame_valid,
    input logic [       0:0] ends           [MaxSlots],
    input logic [    PtrW:0] ends_write_q,
    input logic [    PtrW:0] ends_read_q,
    input logic              ends_full_q,
    input logic [       0:0] helds          [MaxSlots],
    input logic [    PtrW:0] helds_write_q,
    input logic [    PtrW:0] helds_read_q,
    input logic              helds_full_q
);

  localparam int unsigned LANES_W = $clog2(DataW / 8);
  localparam bit [15:0] MOST = 16'(MaxSlots);

  typedef logic [PtrW:0] number_t;

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW($bits(frame_t))
  ) u_hold (
      .clk,
      .rst,
      .tdata_i (m_axis_frame_tdata),
      .tvalid_i(m_axis_frame_tvalid),
      .tready_i(m_axis_frame_tready)
  );

  // The ring may change where it starts again: nothing takes a slot then.
  logic started_q;
  logic [63:0] base_q;
  logic [31:0] slot_bytes_q;
  logic [15:0] slots_q;

  always_ff @(posedge clk) begin
    started_q <= !rst;
    base_q <= base_i;
    slot_bytes_q <= slot_bytes_i;
    slots_q <= slots_i;
  end

  always_comb begin
    assume (base_i[LANES_W-1:0] == '0 && slot_bytes_i[LANES_W-1:0] == '0);
    if (started_q && !(restart_i && idle_o)) begin
      assume (base_i == base_q && slot_bytes_i == slot_bytes_q && slots_i == slots_q);
    end
    assume (!take_i || (free_o && !restart_i));
  end

  // Frames that have begun, that have ended, that left their queue, and whose slots are free
  number_t any_number;  // a constant, the solver's choice
  number_t begun_q, ended_q, left_q, freed_q, in_use;
  number_t pending_q, unanswered_q;  // events that were not taken; that were, and were not released
  logic [15:0] place_q;  // of the next slot in the ring
  logic [63:0] next_q;  // where the slot behind the last one begins
  logic event_taken, answers;

  assign in_use = begun_q - freed_q;
  assign event_taken = m_axis_frame_tvalid && m_axis_frame_tready;
  assign answers = release_i && unanswered_q != '0;

  always_comb assume (!done_i || ended_q != begun_q);

  // The frame that is followed
  frame_t frame, frame_q;
  logic [15:0] slot_q;
  logic known_q, over_q, failed_q, handed_q, released_q, gone, takes, dones;
  number_t ahead_q;  // events before its own that were not taken; then those before it that were not released
  logic [1:0] waited_q;  // cycles in which its slot was the oldest, and could be free
  logic next_out;  // its event is the next one
  number_t late_q;  // cycles in which that was not on offer

  assign takes = take_i && begun_q == any_number;
  assign dones = done_i && ended_q == any_number;
  assign gone  = !known_q || failed_q || released_q;
  assign next_out = over_q && !failed_q && !handed_q && ahead_q == '0;

  always_comb begin
    frame = '{
        time_flags: TimeFlags ? info_i.time_flags : '0,
        kind: info_i.kind,
        kind_index: kind_index_i,
        bunch_id: info_i.bunch_id,
        timestamp_ns: info_i.timestamp_ns,
        number: info_i.number,
        address: address_o
    };
  end

  always_ff @(posedge clk) begin
    any_number <= any_number;
    begun_q <= begun_q + number_t'(take_i);
    ended_q <= ended_q + number_t'(done_i);
    left_q <= left_q + number_t'(leaves);
    freed_q <= freed_q + number_t'(freed);
    pending_q <= pending_q + number_t'(done_i && !failed_i) - number_t'(event_taken);
    unanswered_q <= unanswered_q + number_t'(event_taken) - number_t'(answers);
    if (take_i) begin
      place_q <= place_q == slots_i - 1'b1 ? '0 : place_q + 1'b1;
      next_q  <= address_o + 64'(slot_bytes_i);
    end else if (restart_i && idle_o) begin
      place_q <= '0;
    end
    waited_q <= known_q && gone && in_use != '0 && freed_q == any_number && !freed ? waited_q + 1'b1 : '0;
    late_q <= next_out && !m_axis_frame_tvalid ? late_q + 1'b1 : '0;
    if (takes) begin
      known_q <= 1'b1;
      frame_q <= frame;
      slot_q  <= place_q;
      {over_q, failed_q, handed_q, released_q} <= '0;
    end
    if (dones) begin
      over_q   <= 1'b1;
      failed_q <= failed_i;
      ahead_q  <= pending_q - number_t'(event_taken);
    end
    if (over_q && !failed_q && !handed_q && event_taken) begin
      handed_q <= ahead_q == '0;
      ahead_q  <= ahead_q == '0 ? unanswered_q - number_t'(answers) : ahead_q - 1'b1;
    end
    if (handed_q && !released_q && answers) begin
      released_q <= ahead_q == '0;
      ahead_q <= ahead_q - 1'b1;
    end
    if (rst) begin
      begun_q <= '0;
      ended_q <= '0;
      left_q <= '0;
      freed_q <= '0;
      pending_q <= '0;
      unanswered_q <= '0;
      place_q <= '0;
      waited_q <= '0;
      late_q <= '0;
      {known_q, over_q, failed_q, handed_q, released_q} <= '0;
    end
  end

  // What is inside: good ends, of all that wait and of those before the frame; so for slots that are held
  number_t n_ends, n_helds, n_frames, ends_good, ends_before, helds_good, helds_before;
  number_t from_left, from_freed;  // the frame's place in each queue
  logic end_good, held_good;
  logic [FrameW-1:0] kept;

  assign n_ends = ends_write_q - ends_read_q;
  assign n_helds = helds_write_q - helds_read_q;
  assign n_frames = frames_write_q - frames_read_q;
  assign from_left = any_number - left_q;
  assign from_freed = any_number - freed_q;
  assign end_good = ends[PtrW'(ends_read_q+from_left)];
  assign held_good = helds[PtrW'(helds_read_q+from_freed)];
  assign kept = frame_valid && from_left == '0 ? frame_left :
      frames[PtrW'(frames_read_q+from_left-number_t'(frame_valid))];

  always_comb begin
    {ends_good, ends_before, helds_good, helds_before} = '0;
    for (int unsigned k = 0; k < MaxSlots; k++) begin
      if (k < 32'(n_ends)) begin
        ends_good += number_t'(ends[PtrW'(ends_read_q+number_t'(k))]);
        if (k < 32'(from_left)) ends_before += number_t'(ends[PtrW'(ends_read_q+number_t'(k))]);
      end
      if (k < 32'(n_helds)) begin
        helds_good += number_t'(helds[PtrW'(helds_read_q+number_t'(k))]);
        if (k < 32'(from_freed)) helds_before += number_t'(helds[PtrW'(helds_read_q+number_t'(k))]);
      end
    end
  end

  logic [16:0] turn;
  logic [15:0] turned;

  assign turn   = 17'(slot_q) + 17'(number_t'(begun_q - any_number));
  assign turned = turn >= 17'(slots_i) ? 16'(turn - 17'(slots_i)) : 16'(turn);

  always_comb begin
    if (!rst) begin
      if (free_o) begin
        a_free : assert (16'(in_use) < slots_i && 16'(in_use) < MOST && slot_bytes_i != '0);
        a_slot : assert (gone || place_q != slot_q || restart_i);
        a_place : assert (place_q < slots_i || restart_i);
        a_address : assert (restart_i || address_o == (place_q == '0 ? base_i : next_q));
      end
      a_room : assert (free_o || 16'(in_use) >= slots_i || 16'(in_use) >= MOST || slot_bytes_i == '0);
      a_idle : assert (idle_o == (in_use == '0));
      if (idle_o) a_over : assert (gone);
      if (m_axis_frame_tvalid) begin
        a_event : assert (pending_q != '0);
        if (next_out) a_frame : assert (m_axis_frame_tdata == frame_q);
      end
      if (next_out && 32'(late_q) == MaxSlots - 1) a_offer : assert (m_axis_frame_tvalid);
      a_back : assert (waited_q != 2'd3);

      i_numbers : assert (number_t'(ended_q - freed_q) <= in_use && number_t'(left_q - freed_q) <= ended_q - freed_q);
      i_in_use : assert (in_use_q == in_use && 32'(in_use) <= MaxSlots && (16'(in_use) <= slots_i || in_use == '0));
      i_index : assert (index_q == place_q && (place_q == '0 || place_q < slots_i || (restart_i && idle_o)));
      i_next : assert (place_q == '0 || next == next_q);
      i_whole : assert (place_q == '0 || next_q[LANES_W-1:0] == '0);
      i_ends : assert (n_ends == number_t'(ended_q - left_q) && ends_full_q == (32'(n_ends) == MaxSlots));
      i_helds : assert (n_helds == number_t'(left_q - freed_q) && helds_full_q == (32'(n_helds) == MaxSlots));
      i_frames : assert (number_t'(n_frames + number_t'(frame_valid)) == number_t'(begun_q - left_q));
      i_full : assert (frames_full_q == (32'(n_frames) == MaxSlots) && 32'(n_frames) <= MaxSlots);
      i_pending : assert (pending_q == ends_good);
      i_owed : assert (owed_q == unanswered_q && 32'(owed_q) + 32'(releases_q) == 32'(helds_good));
      i_ways : assert (over_q || (!failed_q && !handed_q));
      i_or : assert ((!failed_q || !handed_q) && (!released_q || handed_q));
      if (from_freed < in_use) begin
        i_known : assert (known_q);
        i_turn : assert (slot_q < slots_i && turned == place_q);
        i_over : assert (over_q == (number_t'(any_number - freed_q) < number_t'(ended_q - freed_q)));
      end else begin
        i_gone : assert (gone);
      end
      if (!known_q) i_new : assert (!over_q);
      if (from_left < number_t'(begun_q - left_q)) i_frame : assert (kept == frame_q[FrameW-1:0]);
      if (from_left < number_t'(begun_q - left_q) && !TimeFlags) i_flags : assert (frame_q.time_flags == '0);
      if (from_left < n_ends) begin
        i_end : assert (end_good == !failed_q && !handed_q);
        if (!failed_q) i_ahead : assert (ahead_q == ends_before);
      end
      if (from_freed < n_helds) begin
        i_held : assert (held_good == !failed_q && handed_q == !failed_q);
        i_released : assert (released_q == (!failed_q && helds_before < releases_q));
        if (!failed_q && !released_q) i_before : assert (ahead_q == helds_before - releases_q);
      end
      i_valid : assert (n_ends == '0 || frame_valid);
      if (late_q != '0) i_late : assert (next_out && 32'(late_q) + 32'(from_left) < MaxSlots);
      if (waited_q >= 2'd1) i_waits : assert (known_q && gone && in_use != '0 && freed_q == any_number);
      if (waited_q >= 2'd2) i_waited_2 : assert (n_helds != '0);
    end
  end

endmodule

bind slot_ring slot_ring_formal #(
    .DataW    (DataW),
    .MaxSlots (MaxSlots),
    .TimeFlags(TimeFlags)
) u_formal (
    .info_i            (info_i),
    .m_axis_frame_tdata(m_axis_frame_tdata),
    .next              ({next_q, LANES_W'(0)}),
    .frames            (u_frames.memory),
    .frames_write_q    (u_frames.write_q),
    .frames_read_q     (u_frames.read_q),
    .frames_full_q     (u_frames.full_q),
    .ends              (u_ends.gen_group[0].memory),
    .ends_write_q      (u_ends.write_q),
    .ends_read_q       (u_ends.read_q),
    .ends_full_q       (u_ends.full_q),
    .helds             (u_held.gen_group[0].memory),
    .helds_write_q     (u_held.write_q),
    .helds_read_q      (u_held.read_q),
    .helds_full_q      (u_held.full_q),
    .*
);
